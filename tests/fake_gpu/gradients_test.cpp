// SPDX-License-Identifier: Apache-2.0
// GradientBuckets of tensors in the memory of GPUs give the bits of those in host memory. Also compiled for a
// real GPU (tests/gpu).
#include <cmath>

#include <sinew/sgd/gradient_buckets.hpp>

#include "tests/comm/ranks.hpp"
#include "tests/fake_gpu/device_tensors.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;

/// Some steps on host memory and on GPUs.
void compare_steps(GradientOptions options, int ranks, bool with_stream) {
    run_thread_ranks(ranks, [&](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        Tensors host(11, comm.rank(), 0);
        DeviceTensorsOf device(host);
        DeviceStream const stream;
        GradientBuckets on_host(comm, host.registered(), options);
        GradientOptions with = options;
        if (with_stream) with.stream = stream;
        GradientBuckets on_device(comm, device.registered(), with);
        EXPECT_EQ(on_device.buckets(), on_host.buckets());
        for (int step = 0; step < 3; ++step) {
            Tensors const next(11, comm.rank(), step);
            copy_values(host, next);
            device.set(next);
            ready_from_threads(on_host, static_cast<unsigned>(step));
            auto const expected = on_host.finish();
            ready_from_threads(on_device, static_cast<unsigned>(step + comm.rank()));
            auto const got = on_device.finish();
            EXPECT_EQ(got.norm, expected.norm);
            device.expect_same(host, std::string(name(options.wire)));
        }
        EXPECT_EQ(on_device.residuals(), on_host.residuals());
    });
}

TEST(DeviceGradients, HaveTheBitsOfThoseInHostMemory) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    for (WireFormat const wire :
         {WireFormat::native, WireFormat::bf16, WireFormat::f16, WireFormat::fp8, WireFormat::int8})
        for (std::size_t const bucket : {std::size_t{16} << 10, std::size_t{1} << 30}) {
            GradientOptions options{.bucket_bytes = bucket, .first_bucket_bytes = bucket / 8};
            options.wire = wire;
            options.clip_norm = wire == WireFormat::bf16 ? 0.5 : 0;
            compare_steps(options, 3, wire == WireFormat::native);
        }
}

TEST(DeviceGradients, InBlocksHaveTheBitsOfThoseInHostMemory) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    for (WireFormat const wire : {WireFormat::fp8, WireFormat::int8})
        for (int const ranks : {1, 2, 4}) {
            GradientOptions options = small_buckets;
            options.wire = wire;
            options.check_finite = ranks == 2;
            options.clip_norm = ranks == 4 ? 0.5 : 0;
            options.error_feedback = ranks != 1;
            compare_steps(options, ranks, ranks == 2);
        }
}

// A block has parts of several tensors, and room between them.
TEST(DeviceGradients, InBlocksForgetNaNAsThoseInHostMemory) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    run_thread_ranks(2, [](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        GradientOptions options = small_buckets;
        options.wire = WireFormat::int8;
        Tensors host(11, comm.rank(), 0, 17, 40);
        DeviceTensorsOf device(host);
        GradientBuckets on_host(comm, host.registered(), options);
        GradientBuckets on_device(comm, device.registered(), options);
        ASSERT_FALSE(host.values[3].empty());
        for (int step = 0; step < 3; ++step) {
            Tensors next(11, comm.rank(), step, 17, 40);
            if (step == 1 && comm.rank() == 1) next.values[3].front() = std::nanf("");
            copy_values(host, next);
            device.set(next);
            all_ready(on_host);
            on_host.finish();
            all_ready(on_device);
            on_device.finish();
            if (step == 1) {
                EXPECT_TRUE(std::isnan(host.values[3].front()));
                EXPECT_TRUE(std::isnan(device.arrays[3].values().front()));
                continue;  // one NaN may have other bits than another
            }
            device.expect_same(host, "step " + std::to_string(step));
        }
        EXPECT_EQ(on_device.residuals(), on_host.residuals());
    });
}

TEST(DeviceGradients, InBlocksContinueFromTheResidualsOfAnotherMemory) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    run_thread_ranks(2, [](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        GradientOptions options = small_buckets;
        options.wire = WireFormat::fp8;
        Tensors host(11, comm.rank(), 0);
        GradientBuckets on_host(comm, host.registered(), options);
        all_ready(on_host);
        on_host.finish();
        Tensors next(11, comm.rank(), 1);
        DeviceTensorsOf const device(next);
        GradientBuckets on_device(comm, device.registered(), options);
        on_device.restore_residuals(on_host.residuals());
        all_ready(on_device);
        on_device.finish();
        copy_values(host, next);
        all_ready(on_host);
        on_host.finish();
        device.expect_same(host, "after the change of memory");
    });
}

void join_and_fail(WireFormat wire) {
    use_fake_kernels();
    run_thread_ranks(2, [wire](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        DeviceTensorsOf device(Tensors(11, comm.rank(), 0));
        GradientOptions options = small_buckets;
        options.check_finite = true;
        options.wire = wire;
        options.error_feedback = false;
        GradientBuckets buckets(comm, device.registered(), options);
        // A tensor is missing on rank 1: all throw, and the next step is in order.
        for (std::size_t i = 0; i < buckets.size(); ++i)
            if (comm.rank() == 0 || i != 3) buckets.ready(i);
        EXPECT_THROW(buckets.finish(), UsageError);
        Tensors bad(11, comm.rank(), 1);
        if (comm.rank() == 1) bad.values[2][5] = std::nanf("");
        device.set(bad);
        ready_from_threads(buckets, 1);
        try {
            buckets.finish();
            ADD_FAILURE() << "NaN was not found";
        } catch (NonFiniteGradient const& error) {
            EXPECT_EQ(error.rank(), 1);
            EXPECT_EQ(error.tensor(), 2u);
        }
        if (comm.rank() == 1) {
            buckets.join();
            return;
        }
        Tensors const good(11, 0, 2);
        device.set(good);
        ready_from_threads(buckets, 2);
        EXPECT_EQ(buckets.finish().active_ranks, 1);
        if (wire == WireFormat::native) device.expect_same(good, "alone");
        for (std::size_t i = 0; i < good.values.size(); ++i)
            for (std::size_t k = 0; k < good.values[i].size(); ++k)
                ASSERT_NEAR(device.arrays[i].values()[k], good.values[i][k], 0.1) << i;
        buckets.join();
    });
}

TEST(DeviceGradients, OfRanksThatJoinAndStepsThatFail) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    join_and_fail(WireFormat::native);
    join_and_fail(WireFormat::int8);
}

}  // namespace
}  // namespace sinew::tests
