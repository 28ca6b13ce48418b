// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/loop_gate.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace sinew::launch {
namespace {

TEST(LoopGate, RunsWhatComesThrough) {
    wire::Loop loop;
    LoopGate const gate(loop);
    int ran = 0;
    std::thread other([&] {
        gate.post([&] { ++ran; });
        gate.post([&] { loop.stop(); });
    });
    loop.run();
    other.join();
    EXPECT_EQ(ran, 1);
}

TEST(LoopGate, RunsNothingThatWasUnderWayWhenItWasClosed) {
    wire::Loop loop;
    LoopGate const gate(loop), copy = gate;
    copy.post([] { ADD_FAILURE() << "it was closed before"; });
    gate.close();
    loop.post([&] { loop.stop(); });
    loop.run();
}

// libpmix may answer after the job, and even the loop, has been destroyed.
TEST(LoopGate, DoesNotTouchALoopThatIsGone) {
    auto loop = std::make_unique<wire::Loop>();
    std::optional<LoopGate> gate(*loop);
    std::atomic<bool> go_on = true;
    std::vector<std::thread> others;
    for (int i = 0; i < 4; ++i)
        others.emplace_back([&go_on, gate = *gate] {
            while (go_on) gate.post([] {});
            for (int after = 0; after < 1000; ++after) gate.post([] {});
        });
    loop->post([&] { loop->stop(); });
    loop->run();
    gate->close();
    gate.reset();
    loop.reset();
    go_on = false;
    for (auto& other : others) other.join();
}

}  // namespace
}  // namespace sinew::launch
