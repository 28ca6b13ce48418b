// SPDX-License-Identifier: Apache-2.0
// GradientBuckets and DeviceSgd whose buckets are summed in the memory of GPUs, through NCCL.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include <sinew/sgd/device_sgd.hpp>
#include <sinew/sgd/gradient_buckets.hpp>

#include "tests/comm/ranks.hpp"
#include "tests/fake_gpu/device_tensors.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;

/// Runs `body` on ranks that must use NCCL ("1"), or must not ("0").
void run_gpu_ranks(int ranks, char const* nccl, std::function<void(Communicator&)> const& body) {
    use_fake_kernels();
    use_fake_nccl();
    Variable const wanted("SINEW_NCCL", nccl);
    run_thread_ranks(ranks, [&](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        body(comm);
    });
}

void run_nccl_ranks(int ranks, std::function<void(Communicator&)> const& body) {
    run_gpu_ranks(ranks, "1", body);
}

/// Small integers, whose sums and means over 2 or 4 ranks have the same bits in every order.
void round_values(Tensors& tensors) {
    for (auto& values : tensors.values)
        for (float& value : values) value = std::clamp(std::round(8 * value), -16.0f, 16.0f);
}

enum class Values : bool { integers, reals };

/// The largest difference that a sum of reals may have from the host's.
double rounding_of(WireFormat wire) {
    if (wire == WireFormat::native) return 1e-6;
    if (wire == WireFormat::f16) return 4e-3;
    return wire == WireFormat::bf16 ? 0.03 : 0;
}

void expect_near(DeviceTensorsOf const& got, Tensors const& expected, double limit) {
    for (std::size_t i = 0; i < expected.values.size(); ++i) {
        auto const values = got.arrays[i].values();
        for (std::size_t k = 0; k < values.size(); ++k)
            ASSERT_NEAR(values[k], expected.values[i][k], limit) << "tensor " << i;
    }
}

/// The copies of a step on all ranks together have no more bytes than that.
template <class Step>
void expect_copies(Communicator& comm, unsigned long most, Step const& step) {
    comm.barrier();
    unsigned long const before = fake_cuda_copied_bytes();
    comm.barrier();
    step();
    comm.barrier();
    EXPECT_LE(fake_cuda_copied_bytes() - before, most);
    comm.barrier();
}
template <class Step>
void expect_no_copies(Communicator& comm, Step const& step) {
    expect_copies(comm, 0, step);
}

void compare_steps(GradientOptions const& options, int ranks, Values kind, bool with_stream) {
    SCOPED_TRACE(std::string(name(options.wire)) + ", " + std::to_string(ranks) + " ranks");
    run_nccl_ranks(ranks, [&](Communicator& comm) {
        Tensors host(11, comm.rank(), 0);
        DeviceTensorsOf device(host);
        DeviceStream const stream;
        GradientBuckets on_host(comm, host.registered(), options);
        GradientOptions with = options;
        if (with_stream) with.stream = stream;
        GradientBuckets on_device(comm, device.registered(), with);
        EXPECT_GT(on_device.buckets(), 2u);
        for (int step = 0; step < 3; ++step) {
            Tensors next(11, comm.rank(), step);
            if (kind == Values::integers) round_values(next);
            copy_values(host, next);
            device.set(next);
            ready_from_threads(on_host, static_cast<unsigned>(step));
            double const norm = on_host.finish().norm;
            // Of 2048 elements at most one number is read.
            auto const segments = static_cast<unsigned long>(options.clip_norm > 0) +
                                  static_cast<unsigned long>(options.check_finite);
            expect_copies(comm, segments * 40 * 8 * static_cast<unsigned long>(ranks), [&] {
                ready_from_threads(on_device, static_cast<unsigned>(step + comm.rank()));
                auto const got = on_device.finish();
                EXPECT_EQ(got.active_ranks, ranks);
                EXPECT_NEAR(got.norm, norm,
                            norm * (kind == Values::integers ? 0 : rounding_of(options.wire)));
            });
            double const limit = kind == Values::integers ? 0 : rounding_of(options.wire);
            if (limit > 0) expect_near(device, host, limit);
            else device.expect_same(host, "step " + std::to_string(step));
        }
        EXPECT_EQ(on_device.residuals(), on_host.residuals());
    });
}

TEST(NcclGradients, AreThoseOfTheHost) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    for (WireFormat const wire : {WireFormat::native, WireFormat::bf16, WireFormat::f16})
        for (int const ranks : {1, 2, 4}) {
            GradientOptions options = small_buckets;
            options.wire = wire;
            compare_steps(options, ranks, Values::integers, ranks == 2);
            options.op = ranks == 2 ? sum : average;
            compare_steps(options, ranks, Values::reals, ranks != 2);
        }
}

TEST(NcclGradients, AreClippedAndLookedAtOnTheGpu) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    for (WireFormat const wire : {WireFormat::native, WireFormat::bf16, WireFormat::f16})
        for (int const ranks : {1, 2, 4}) {
            GradientOptions options = small_buckets;
            options.wire = wire;
            options.clip_norm = 0.5;
            options.check_finite = ranks != 1;
            compare_steps(options, ranks, Values::integers, ranks == 2);
            compare_steps(options, ranks, Values::reals, ranks == 4);
        }
}

// Rows pass as they are, so that all bits are those of the host.
TEST(NcclGradients, InBlocksAreThoseOfTheHost) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    for (WireFormat const wire : {WireFormat::fp8, WireFormat::int8})
        for (int const ranks : {1, 2, 4}) {
            GradientOptions options = small_buckets;
            options.wire = wire;
            options.check_finite = ranks == 2;
            options.error_feedback = ranks != 4;
            compare_steps(options, ranks, Values::reals, ranks == 2);
        }
}

TEST(NcclGradients, InBlocksForgetNaN) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    run_nccl_ranks(2, [](Communicator& comm) {
        GradientOptions options = small_buckets;
        options.wire = WireFormat::int8;
        Tensors host(11, comm.rank(), 0, 17, 40);
        DeviceTensorsOf device(host);
        GradientBuckets on_host(comm, host.registered(), options);
        GradientBuckets on_device(comm, device.registered(), options);
        for (int step = 0; step < 3; ++step) {
            Tensors next(11, comm.rank(), step, 17, 40);
            if (step == 1 && comm.rank() == 1) next.values[3].front() = std::nanf("");
            copy_values(host, next);
            device.set(next);
            all_ready(on_host);
            on_host.finish();
            all_ready(on_device);
            on_device.finish();
            if (step == 1) EXPECT_TRUE(std::isnan(device.arrays[3].values().front()));
            else device.expect_same(host, "step " + std::to_string(step));
        }
    });
}

// All buckets but the last one have their results before `finish`.
TEST(NcclGradients, PassWhileTheCallerComputes) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    static std::atomic<std::size_t> unpacked;
    unpacked = 0;
    run_nccl_ranks(2, [](Communicator& comm) {
        fake_cuda_kernels(
            [](char const* kernel, unsigned blocks, void const* parameter) {
                run_fake_kernel(kernel, blocks, parameter);
                if (std::strcmp(kernel, "sinew_unflatten") == 0) ++unpacked;
            },
            fake_kernel_bytes);
        DeviceTensorsOf const device(Tensors(11, comm.rank(), 0));
        GradientBuckets buckets(comm, device.registered(), small_buckets);
        for (std::size_t i = buckets.size(); i-- > 1;) buckets.ready(i);
        wait_until([&] { return unpacked >= 2 * (buckets.buckets() - 1); });
        buckets.ready(0);
        buckets.finish();
        EXPECT_GE(unpacked, 2 * buckets.buckets() - 1);
    });
}

TEST(NcclGradients, OfRanksThatJoinAndStepsThatFail) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    for (WireFormat const wire : {WireFormat::native, WireFormat::bf16, WireFormat::int8}) {
        SCOPED_TRACE(name(wire));
        run_nccl_ranks(2, [wire](Communicator& comm) {
            DeviceTensorsOf device(Tensors(11, comm.rank(), 0));
            GradientOptions options = small_buckets;
            options.wire = wire;
            options.error_feedback = false;
            options.check_finite = true;
            GradientBuckets buckets(comm, device.registered(), options);
            // A tensor is missing on rank 1: all throw, and the next step is in order.
            for (std::size_t i = 0; i < buckets.size(); ++i)
                if (comm.rank() == 0 || i != 3) buckets.ready(i);
            EXPECT_THAT(thrown_by<UsageError>([&] { buckets.finish(); }), HasSubstr("tensor3"));
            for (std::size_t const tensor : {std::size_t{2}, std::size_t{16}}) {
                Tensors bad(11, comm.rank(), 1);
                if (comm.rank() == 1) bad.values[tensor].back() = std::nanf("");
                device.set(bad);
                ready_from_threads(buckets, 1);
                try {
                    buckets.finish();
                    ADD_FAILURE() << "NaN was not found";
                } catch (NonFiniteGradient const& error) {
                    EXPECT_EQ(error.rank(), 1);
                    EXPECT_EQ(error.tensor(), tensor);
                }
            }
            if (comm.rank() == 1) {
                EXPECT_EQ(buckets.join(), 0);
                return;
            }
            Tensors const good(11, 0, 2);
            device.set(good);
            ready_from_threads(buckets, 2);
            EXPECT_EQ(buckets.finish().active_ranks, 1);
            if (wire == WireFormat::native) device.expect_same(good, "alone");
            expect_near(device, good, 0.1);
            EXPECT_EQ(buckets.join(), 0);
        });
    }
}

TEST(NcclGradients, WithOneBucketAndWithTuning) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    for (bool const tunes : {false, true})
        run_nccl_ranks(2, [&](Communicator& comm) {
            Tensors host(11, comm.rank(), 0, 17, 60000);
            round_values(host);
            DeviceTensorsOf device(host);
            GradientOptions options{.tune_bucket_bytes = tunes};
            options.check_finite = tunes;
            GradientBuckets on_host(comm, host.registered());
            GradientBuckets on_device(comm, device.registered(), options);
            for (int step = 0; step < 14; ++step) {
                Tensors next(11, comm.rank(), step, 17, 60000);
                round_values(next);
                copy_values(host, next);
                device.set(next);
                all_ready(on_host);
                on_host.finish();
                auto const pass = [&] {
                    all_ready(on_device);
                    on_device.finish();
                };
                if (tunes) pass();  // other buckets have other lists of tensors
                else expect_no_copies(comm, pass);
                device.expect_same(host, "step " + std::to_string(step));
            }
        });
}

TEST(NcclGradients, OfAHostAndAGpuMeetOnTheHost) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    run_nccl_ranks(2, [](Communicator& comm) {
        Tensors tensors(11, comm.rank(), 0);
        round_values(tensors);
        Tensors sums(11, 1 - comm.rank(), 0);
        round_values(sums);
        for (std::size_t i = 0; i < sums.values.size(); ++i)
            for (std::size_t k = 0; k < sums.values[i].size(); ++k)
                sums.values[i][k] = 0.5f * (sums.values[i][k] + tensors.values[i][k]);
        DeviceTensorsOf const device(tensors);
        GradientBuckets buckets(comm, comm.rank() == 0 ? device.registered() : tensors.registered(),
                                small_buckets);
        all_ready(buckets);
        buckets.finish();
        if (comm.rank() == 0) device.expect_same(sums, "on the GPU");
        else EXPECT_EQ(tensors.values, sums.values);
    });
}

TEST(NcclGradients, OfAStreamThatHangsEndAtTheDeadline) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    run_nccl_ranks(2, [](Communicator& comm) {
        std::atomic<bool> go_on{false};
        DeviceStream const stream;
        DeviceTensorsOf const device(Tensors(11, comm.rank(), 0));
        {
            GradientOptions options = small_buckets;
            options.stream = stream;
            options.timeout = 500ms;
            GradientBuckets buckets(comm, device.registered(), options);
            if (comm.rank() == 1)
                stream.call(
                    [](void* argument) {
                        while (!*static_cast<std::atomic<bool>*>(argument))
                            std::this_thread::sleep_for(1ms);
                    },
                    &go_on);
            all_ready(buckets);
            auto const error = loss_seen_by([&] { buckets.finish(); });
            EXPECT_THAT(error, HasSubstr("rank "));
        }
        go_on = true;
        EXPECT_EQ(stream.synchronize(), 0);
        comm.barrier();
    });
}

void all_ready_of(DeviceSgd& optimizer) {
    for (std::size_t i = optimizer.size(); i-- > 0;) optimizer.ready(i);
}

/// What some steps of DeviceSgd leave on rank 0: parameters, and the state.
struct Trained {
    std::vector<std::vector<float>> parameters;
    std::vector<std::byte> state;
};

Trained train(WireFormat wire, int ranks, double clip_norm, char const* nccl) {
    Trained result;
    run_gpu_ranks(ranks, nccl, [&](Communicator& comm) {
        DeviceTensorsOf const parameters(Tensors(11, 0, 100));
        DeviceTensorsOf gradients(Tensors(11, comm.rank(), 0));
        GradientOptions options = small_buckets;
        options.wire = wire;
        options.clip_norm = clip_norm;
        DeviceSgd optimizer(comm, together(parameters, gradients),
                            {.learning_rate = 0.125, .momentum = 0.5, .weight_decay = 0.25},
                            options);
        // In the last step only rank 0 has gradients.
        for (int step = 0; step < 4; ++step) {
            if (step == 3 && comm.rank() > 0) break;
            Tensors next(11, comm.rank(), step);
            if (wire != WireFormat::int8) round_values(next);
            gradients.set(next);
            all_ready_of(optimizer);
            optimizer.step();
        }
        optimizer.join();
        Trained own;
        for (auto const& array : parameters.arrays) own.parameters.push_back(array.values());
        std::vector<float> root = own.parameters[0];
        comm.broadcast(root, 0);
        EXPECT_EQ(own.parameters[0], root) << "ranks have different parameters";
        own.state = optimizer.state();
        if (comm.rank() == 0) result = own;
    });
    return result;
}

TEST(NcclSgd, IsThatOfBucketsOnTheHost) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    for (WireFormat const wire :
         {WireFormat::native, WireFormat::bf16, WireFormat::f16, WireFormat::int8})
        for (int const ranks : {1, 2, 4}) {
            SCOPED_TRACE(std::string(name(wire)) + ", " + std::to_string(ranks) + " ranks");
            // The norm of integers is exact.
            double const clip_norm = wire == WireFormat::int8 || ranks == 1 ? 0 : 0.75;
            Trained const by_host = train(wire, ranks, clip_norm, "0");
            Trained const by_nccl = train(wire, ranks, clip_norm, "1");
            EXPECT_EQ(by_nccl.parameters, by_host.parameters);
            EXPECT_EQ(by_nccl.state, by_host.state);
        }
}

}  // namespace
}  // namespace sinew::tests
