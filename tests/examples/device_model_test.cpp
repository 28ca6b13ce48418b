// SPDX-License-Identifier: Apache-2.0
#include "examples/sgd_digits/device_model.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <sinew/error.hpp>
#include <sinew/thread_ranks.hpp>

#include "examples/sgd_digits/on_all_ranks.hpp"
#include "tests/examples/device_model_cases.hpp"
#include "tests/examples/host_gpu.hpp"

namespace sgd_digits {
namespace {

TEST(DeviceModel, HasTheGradientOfTheModelOnTheHost) {
    HostGpu gpu;
    for (auto const& now : device_model_cases()) {
        auto const result = compare_device_model(gpu, now);
        EXPECT_TRUE(result.agree()) << now.text() << ": " << result.text();
    }
}

TEST(DeviceModel, TakesParameters) {
    HostGpu gpu;
    auto const data = synthetic_digits(1, {.train = 5, .test = 5});
    Model model(data.train.features, 3);
    DeviceModel device(gpu, model, data, 5);
    model.initialise(9);
    device.write_parameters(model.parameters());
    EXPECT_TRUE(std::ranges::equal(device.read_parameters(), model.parameters()));
    EXPECT_EQ(device.gradient().size(), model.parameters().size());
}

TEST(OnAllRanks, AFailureOfOneIsEveryonesAndNobodyWaits) {
    sinew::run_thread_ranks(3, [](sinew::Communicator& comm) {
        auto const fail = [&] {
            if (comm.rank() > 0) throw GpuError("no");
        };
        if (comm.rank() == 1) {
            EXPECT_THROW(on_all_ranks(comm, fail), GpuError);
        } else {
            EXPECT_THROW(on_all_ranks(comm, fail), FailedElsewhere);
        }
        int calls = 0;
        on_all_ranks(comm, [&] { ++calls; });
        EXPECT_EQ(calls, 1);
    });
}

}  // namespace
}  // namespace sgd_digits
