// SPDX-License-Identifier: Apache-2.0
// How gradients pass between the fake GPU and the host: what the real driver cannot be asked.
#include <deque>
#include <thread>

#include <sinew/sgd/gradient_buckets.hpp>

#include "src/sgd/coding/host_coder.hpp"
#include "src/sgd/gpu/device_tensors.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/fake_gpu/device_tensors.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;

std::byte const image_for_gradients[64] = {};

TEST(DeviceGradients, InBlocksPassTheBusAsRows) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    run_thread_ranks(1, [](Communicator& comm) {
        fake_cuda_use_device(0);
        constexpr std::size_t count = 128 * 100;
        DeviceArray<float> const gradient(count, 1.0f);
        GradientOptions options;
        options.wire = WireFormat::int8;
        GradientBuckets buckets(comm, {Gradient("g", Buffer(gradient.span()))}, options);
        auto const before = fake_cuda_copied_bytes();
        all_ready(buckets);
        buckets.finish();
        // To the host; back, summed, and to the host; and back: 132 bytes for 128 elements.
        EXPECT_EQ(fake_cuda_copied_bytes() - before, 4 * count / 128 * 132);
        EXPECT_EQ(gradient.values(), std::vector<float>(count, 1.0f));
    });
}

TEST(DeviceGradients, OneLaunchAndOneCopyForABucketEachWay) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    static std::atomic<int> launched;
    launched = 0;
    fake_cuda_kernels(
        [](char const* kernel, unsigned blocks, void const* parameter) {
            ++launched;
            run_fake_kernel(kernel, blocks, parameter);
        },
        fake_kernel_bytes);
    run_thread_ranks(1, [](Communicator& comm) {
        fake_cuda_use_device(0);
        DeviceTensorsOf const device(Tensors(11, 0, 0));
        GradientBuckets buckets(comm, device.registered(), small_buckets);
        auto const copies = fake_cuda_copies();
        ready_from_threads(buckets, 1);
        buckets.finish();
        auto const n = static_cast<unsigned long>(buckets.buckets());
        EXPECT_GT(n, 2u);
        EXPECT_EQ(fake_cuda_copies() - copies, 2 * n);
        EXPECT_EQ(launched, static_cast<int>(2 * n));
    });
}

TEST(DeviceGradients, WithoutKernelsSayWhy) {
    use_fake_kernels();
    if (has_kernels()) fake_cuda_fail_module_load(CudaDriver::no_binary_for_gpu);
    run_thread_ranks(1, [](Communicator& comm) {
        fake_cuda_use_device(0);
        DeviceTensorsOf const device(Tensors(11, 0, 0));
        try {
            GradientBuckets const buckets(comm, device.registered());
            ADD_FAILURE() << "there are no kernels";
        } catch (Unavailable const& error) {
            EXPECT_THAT(error.what(), HasSubstr("kernels"));
        }
    });
    fake_cuda_fail_module_load(0);
}

// What needs no kernels of this build: DeviceTensors itself.
class DeviceTensorsOfRank {
public:
    DeviceTensorsOfRank() : device_(tensors_) {
        gradients_ = device_.registered();
        plans_ = sgd::plan_buckets(gradients_, small_buckets);
    }
    std::unique_ptr<sgd::DeviceTensors> find(void* stream, std::chrono::nanoseconds timeout,
                                             GradientOptions const& options = small_buckets) {
        auto found = sgd::DeviceTensors::find(
            gradients_, plans_,
            {.stream = stream, .timeout = timeout, .gradients = options, .ranks = 2},
            sgd::DeviceKernels::Images{image_for_gradients});
        found->sum_on_host();
        return found;
    }
    Tensors tensors_{11, 0, 0};
    DeviceTensorsOf device_;
    std::vector<Gradient> gradients_;
    std::vector<sgd::BucketPlan> plans_;
};

TEST(DeviceTensors, GoToTheHostAndBackFromSeveralThreads) {
    use_fake_kernels();
    fake_cuda_use_device(0);
    DeviceTensorsOfRank rank;
    auto const carried = rank.find(nullptr, std::chrono::seconds(20));
    for (int step = 0; step < 5; ++step) {
        rank.device_.set(rank.tensors_);
        std::vector<std::thread> threads;
        for (std::size_t b = 0; b < rank.plans_.size(); ++b)
            threads.emplace_back([&, b] { carried->load(b, 2.0); });
        for (std::thread& thread : threads) thread.join();
        for (std::size_t b = 0; b < rank.plans_.size(); ++b) {
            std::vector<float> elements(rank.plans_[b].count);
            EXPECT_TRUE(carried->arrive(b, elements.data()));
            EXPECT_FALSE(carried->arrive(b, elements.data()));
            for (auto const& part : rank.plans_[b].parts)
                for (std::size_t i = 0; i < part.count; ++i)
                    ASSERT_EQ(elements[part.offset + i], 2 * rank.tensors_.values[part.tensor][i]);
            carried->store(b, elements.data(), 0.25);
        }
        carried->settle();
        Tensors halves = rank.tensors_;
        for (auto& values : halves.values)
            for (float& value : values) value *= 0.5f;
        rank.device_.expect_same(halves, "half");
    }
}

TEST(DeviceTensors, InBlocksAreCodedAsOnTheHost) {
    use_fake_kernels();
    fake_cuda_use_device(0);
    DeviceTensorsOfRank rank;
    GradientOptions options = small_buckets;
    options.wire = WireFormat::int8;
    auto const carried = rank.find(nullptr, std::chrono::seconds(20), options);
    std::vector<std::vector<float>> elements;
    std::deque<sgd::HostCoder> coders;
    for (sgd::BucketPlan const& plan : rank.plans_) {
        sgd::RowShape const shape(plan.count, 2, options);
        auto& own = elements.emplace_back(shape.elements());
        coders.emplace_back(shape, std::vector<sgd::HostCoder::Gap>(), own.data(), true);
    }
    for (int step = 0; step < 3; ++step) {
        rank.device_.set(rank.tensors_);
        std::vector<std::thread> threads;
        for (std::size_t b = 0; b < rank.plans_.size(); ++b)
            threads.emplace_back([&, b] { carried->load(b, 1); });
        for (std::thread& thread : threads) thread.join();
        Tensors halves = rank.tensors_;
        for (std::size_t b = 0; b < rank.plans_.size(); ++b) {
            sgd::RowShape const shape(rank.plans_[b].count, 2, options);
            for (auto const& part : rank.plans_[b].parts)
                std::copy_n(rank.tensors_.values[part.tensor].begin(), part.count,
                            elements[b].begin() + static_cast<std::ptrdiff_t>(part.offset));
            EXPECT_FALSE(carried->arrive(b, nullptr));  // there is no NaN
            std::vector<std::byte> expected(shape.bytes()), got(shape.bytes(), std::byte{7});
            coders[b].encode(expected.data(), true);
            carried->coder(b)->encode(got.data(), true);
            EXPECT_EQ(got, expected) << "bucket " << b << ", step " << step;
            std::vector<std::byte> sum(shape.row_bytes()), own(shape.row_bytes());
            coders[b].sum(sum.data(), expected.data());
            carried->coder(b)->sum(own.data(), got.data());
            EXPECT_EQ(own, sum);
            coders[b].decode(expected.data());
            carried->coder(b)->decode(got.data());
            carried->store(b, nullptr, 0.5);
            for (auto const& part : rank.plans_[b].parts)
                for (std::size_t i = 0; i < part.count; ++i)
                    halves.values[part.tensor][i] = 0.5f * elements[b][part.offset + i];
        }
        carried->settle();
        rank.device_.expect_same(halves, "half");
        for (std::size_t b = 0; b < rank.plans_.size(); ++b)
            EXPECT_EQ(carried->coder(b)->residuals(), coders[b].residuals());
    }
}

TEST(DeviceTensors, AreReadAfterTheWorkOfTheirStream) {
    use_fake_kernels();
    fake_cuda_use_device(0);
    DeviceTensorsOfRank rank;
    DeviceStream const stream;
    auto const carried = rank.find(stream, std::chrono::seconds(20));
    rank.device_.set(Tensors(11, 0, 1));  // not the values yet
    stream.call(
        [](void* argument) {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            fake_cuda_use_device(0);
            auto* const of = static_cast<DeviceTensorsOfRank*>(argument);
            of->device_.set(of->tensors_);
        },
        &rank);
    carried->load(0, 1);
    std::vector<float> elements(rank.plans_[0].count);
    ASSERT_TRUE(carried->arrive(0, elements.data()));
    for (auto const& part : rank.plans_[0].parts)
        for (std::size_t i = 0; i < part.count; ++i)
            ASSERT_EQ(elements[part.offset + i], rank.tensors_.values[part.tensor][i]);
}

TEST(DeviceTensors, OfAStreamThatHangsEndAtTheDeadline) {
    use_fake_kernels();
    fake_cuda_use_device(0);
    DeviceTensorsOfRank rank;
    DeviceStream const stream;
    std::atomic<bool> go_on{false};
    stream.call(
        [](void* argument) {
            while (!*static_cast<std::atomic<bool>*>(argument))
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
        },
        &go_on);
    auto const carried = rank.find(stream, std::chrono::milliseconds(50));
    carried->load(0, 1);
    std::vector<float> elements(rank.plans_[0].count);
    try {
        carried->arrive(0, elements.data());
        ADD_FAILURE() << "the stream hangs";
    } catch (Timeout const& error) {
        EXPECT_THAT(error.what(), HasSubstr("not copied the gradients to the host after 50 ms"));
    }
    EXPECT_FALSE(carried->settle_quietly());
    go_on = true;
    stream.synchronize();
    while (!carried->settle_quietly()) {}
}

TEST(DeviceTensors, InTwoMemoriesAreRefused) {
    use_fake_kernels();
    fake_cuda_use_device(0);
    DeviceTensorsOfRank rank;
    std::vector<float> on_host(10);
    auto const why = [&](std::vector<Gradient> const& gradients, void* stream) -> std::string {
        try {
            auto const plans = sgd::plan_buckets(gradients, small_buckets);
            sgd::DeviceTensors::find(
                gradients, plans,
                {.stream = stream, .timeout = std::chrono::seconds(5), .gradients = small_buckets},
                sgd::DeviceKernels::Images{image_for_gradients});
        } catch (UsageError const& error) {
            return error.what();
        }
        return "no error";
    };
    auto mixed = rank.gradients_;
    mixed.emplace_back("host", on_host);
    EXPECT_THAT(why(mixed, nullptr), HasSubstr("Use one GradientBuckets for each memory"));
    fake_cuda_use_device(1);
    DeviceArray<float> const elsewhere(10);
    auto two = rank.gradients_;
    two.emplace_back("elsewhere", Buffer(elsewhere.span()));
    EXPECT_THAT(why(two, nullptr), HasSubstr("different GPUs"));
    DeviceArray<double> const doubles(10);
    EXPECT_THAT(why({Gradient("doubles", Buffer(doubles.span()))}, nullptr),
                HasSubstr("where f32, bf16 and f16 are possible"));
    int stream = 0;
    EXPECT_THAT(why({Gradient("host", on_host)}, &stream), HasSubstr("a stream was given"));
}

}  // namespace
}  // namespace sinew::tests
