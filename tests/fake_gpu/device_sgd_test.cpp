// SPDX-License-Identifier: Apache-2.0
// DeviceSgd gives the bits of GradientBuckets in host memory and the same optimiser there.
#include <sinew/sgd/device_sgd.hpp>

#include <cmath>

#include "tests/comm/ranks.hpp"
#include "tests/fake_gpu/device_tensors.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;

/// The optimiser in host memory: each product and sum is rounded by itself, as in the kernel.
void descend(Sgd const& rule, Tensors& parameters, Tensors const& gradients, Tensors& momentum) {
    auto const rate = static_cast<float>(rule.learning_rate);
    auto const decay = static_cast<float>(rule.weight_decay);
    auto const kept = static_cast<float>(rule.momentum);
    for (std::size_t t = 0; t < parameters.values.size(); ++t)
        for (std::size_t i = 0; i < parameters.values[t].size(); ++i) {
            float& p = parameters.values[t][i];
            float& v = momentum.values[t][i];
            float direction = gradients.values[t][i];
            if (decay != 0) direction = direction + decay * p;
            if (kept > 0) {
                v = kept * v + direction;
                direction = rule.nesterov ? direction + kept * v : v;
            }
            p = p - rate * direction;
        }
}

template <class Optimizer>
void all_ready_of(Optimizer& optimizer) {
    for (std::size_t i = optimizer.size(); i-- > 0;) optimizer.ready(i);
}

void compare_steps(Sgd const& rule, GradientOptions const& options, int ranks) {
    run_thread_ranks(ranks, [&](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        Tensors parameters(11, 0, 100), gradients(11, comm.rank(), 0), momentum(11, 0, 0);
        for (auto& values : momentum.values) std::fill(values.begin(), values.end(), 0.0f);
        DeviceTensorsOf const device(parameters);
        DeviceTensorsOf on_device(gradients);
        GradientBuckets on_host(comm, gradients.registered(), options);
        DeviceSgd optimizer(comm, together(device, on_device), rule, options);
        std::vector<std::byte> stored;
        for (int step = 0; step < 4; ++step) {
            Tensors const next(11, comm.rank(), step);
            copy_values(gradients, next);
            on_device.set(next);
            all_ready(on_host);
            auto const expected = on_host.finish();
            descend(rule, parameters, gradients, momentum);
            all_ready_of(optimizer);
            auto const got = optimizer.step();
            EXPECT_EQ(got.norm, expected.norm);
            EXPECT_EQ(got.active_ranks, ranks);
            device.expect_same(parameters, "step " + std::to_string(step));
            on_device.expect_same(next, "gradients");
            if (step == 2) {  // another one goes on
                auto const state = optimizer.state();
                optimizer = DeviceSgd(comm, together(device, on_device), rule, options);
                optimizer.restore_state(state);
            }
        }
    });
}

TEST(DeviceSgd, HasTheBitsOfTheOptimiserInHostMemory) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    GradientOptions options = small_buckets;
    compare_steps({.learning_rate = 0.1, .momentum = 0.9}, options, 3);
    options.clip_norm = 0.5;
    compare_steps({.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true},
                  options, 2);
    options.wire = WireFormat::int8;
    compare_steps({.learning_rate = 0.1, .momentum = 0.5}, options, 2);
    options.clip_norm = 0;
    compare_steps({.learning_rate = 0.1, .weight_decay = 0.1}, options, 2);
    options.wire = WireFormat::bf16;
    options.op = sum;
    compare_steps({.learning_rate = 0.1, .momentum = 0.9}, options, 2);
}

TEST(DeviceSgd, ChangesNoParameterInAStepThatFails) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    run_thread_ranks(2, [](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        Tensors const parameters(11, 0, 100);
        Tensors bad(11, comm.rank(), 0);
        if (comm.rank() == 1) bad.values.front().front() = std::nanf("");  // of the last bucket
        DeviceTensorsOf const device(parameters);
        DeviceTensorsOf const gradients(bad);
        GradientOptions options = small_buckets;
        options.check_finite = true;
        DeviceSgd optimizer(comm, together(device, gradients), {.learning_rate = 1}, options);
        all_ready_of(optimizer);
        EXPECT_THROW(optimizer.step(), NonFiniteGradient);
        device.expect_same(parameters, "after NaN");
        optimizer.set_learning_rate(0);
        EXPECT_THROW(optimizer.set_learning_rate(-1), UsageError);
        std::array<double, 1> rank{static_cast<double>(comm.rank())};
        optimizer.average(rank);
        EXPECT_EQ(rank[0], 0.5);
        EXPECT_GE(optimizer.join(), 0);
    });
}

TEST(DeviceSgd, UpdatesParametersOfRanksThatHaveJoined) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    run_thread_ranks(2, [](Communicator& comm) {
        fake_cuda_use_device(comm.rank());
        Tensors parameters(11, 0, 100), momentum(11, 0, 0);
        Tensors const gradients(11, 0, 0);  // those of rank 0
        Sgd const rule{.learning_rate = 0.5};
        DeviceTensorsOf const device(parameters);
        DeviceTensorsOf const on_device(gradients);
        DeviceSgd optimizer(comm, together(device, on_device), rule, small_buckets);
        if (comm.rank() == 0) {
            all_ready_of(optimizer);
            EXPECT_EQ(optimizer.step().active_ranks, 1);
        }
        optimizer.join();
        descend(rule, parameters, gradients, momentum);
        device.expect_same(parameters, "joined");
    });
}

TEST(DeviceSgd, RefusesWhatItCannotDo) {
    if (!has_kernels()) GTEST_SKIP() << "built without kernels for GPUs";
    use_fake_kernels();
    run_thread_ranks(1, [](Communicator& comm) {
        fake_cuda_use_device(0);
        DeviceArray<float> const parameter(10), gradient(10), longer(11);
        DeviceArray<double> const doubles(10);
        std::vector<float> host(10);
        auto const why = [&](Buffer elements, Buffer slopes, GradientOptions const& options = {}) {
            return thrown_by<UsageError>([&] {
                DeviceSgd(comm, {{"p", elements, slopes}}, {}, options);
            });
        };
        EXPECT_THAT(why(doubles.span(), gradient.span()), HasSubstr("must be f32"));
        EXPECT_THAT(why(longer.span(), gradient.span()), HasSubstr("must be as many"));
        EXPECT_THAT(why(std::span(host), std::span(host)), HasSubstr("Use ShardedOptimizer"));
        EXPECT_THAT(why(std::span(host), gradient.span()),
                    HasSubstr("not in the memory of the GPU where its gradient is"));
        EXPECT_THAT(why(parameter.span(), gradient.span(), {.tune_bucket_bytes = true}),
                    HasSubstr("a DeviceSgd"));
        DeviceSgd optimizer(comm, {{"p", parameter.span(), gradient.span()}}, {.momentum = 0.5});
        EXPECT_THAT(thrown_by<UsageError>([&] { optimizer.restore_state({}); }),
                    HasSubstr("this rank's state has"));
    });
}

}  // namespace
}  // namespace sinew::tests
