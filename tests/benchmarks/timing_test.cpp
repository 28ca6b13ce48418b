// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/timing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <sinew/thread_ranks.hpp>
#include <thread>

namespace sinew::bench {
namespace {

using namespace std::chrono_literals;

/// The calls of a contender of which only call number `slow` takes long (0: none).
int calls_made(int slow) {
    int made = 0;
    run_thread_ranks(1, [&](Communicator& comm) {
        SharedPage const page(comm, 1);
        CoreProbe probe(comm, page, 0, false);
        Options const options{.warmup = 10, .rounds = 3, .budget = 0.05};
        Timing timing(
            comm, probe, options, [] {}, [](int) {});
        Workload const load({.count = 1});
        auto const call = [&] {
            if (++made == slow) std::this_thread::sleep_for(5ms);
        };
        timing.measure({call}, 1, load, Variant::reused);
    });
    return made;
}

// A block of calls is a millisecond long. What interrupts one call must not make all blocks one call long.
TEST(Timing, OneSlowCallDoesNotDecideTheLengthOfBlocks) {
    for (int const slow : {0, 1, 5, 12, 13, 14, 20}) {
        int most = 0;  // a busy machine may interrupt other calls, too: not in each of many tries
        for (int attempt = 0; most <= 1000 && attempt < 20; ++attempt)
            most = std::max(most, calls_made(slow));
        EXPECT_GT(most, 1000) << slow;
    }
}

TEST(Timing, ACallOfAMillisecondIsABlock) {
    int made = 0;
    run_thread_ranks(1, [&](Communicator& comm) {
        SharedPage const page(comm, 1);
        CoreProbe probe(comm, page, 0, false);
        Options const options{.warmup = 0, .rounds = 4, .budget = 10};
        Timing timing(
            comm, probe, options, [] {}, [](int) {});
        Workload const load({.count = 1});
        auto const measured = timing.measure({[&] {
                                                 ++made;
                                                 std::this_thread::sleep_for(2ms);
                                             }},
                                             1, load, Variant::reused);
        EXPECT_EQ(measured.us.at(0).size(), 4u);
        EXPECT_GE(measured.us[0][0], 2000.0);
    });
    EXPECT_EQ(made, 1 + 2 + 4 * 2);  // the first, two for the pace, and two blocks a round
}

}  // namespace
}  // namespace sinew::bench
