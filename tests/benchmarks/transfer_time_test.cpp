// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/transfer_time.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sinew/thread_ranks.hpp>

namespace sinew::bench {
namespace {

TEST(TransferTime, IsInterpolatedBetweenSizes) {
    std::vector<TransferTime> const times{{1 << 10, {1, ""}, {2, ""}}, {3 << 10, {2, ""}, {6, ""}}};
    EXPECT_DOUBLE_EQ(transfer_us(times, 1 << 10, false), 1);
    EXPECT_DOUBLE_EQ(transfer_us(times, 2 << 10, false), 1.5);
    EXPECT_DOUBLE_EQ(transfer_us(times, 2 << 10, true), 4);
    EXPECT_DOUBLE_EQ(transfer_us(times, 3 << 10, false), 2);
    EXPECT_DOUBLE_EQ(transfer_us(times, 8, false), 1) << "like the shortest";
    EXPECT_DOUBLE_EQ(transfer_us(times, 0, false), 0);
    EXPECT_DOUBLE_EQ(transfer_us(times, 6 << 10, false), 4) << "at the rate of the longest";
    EXPECT_DOUBLE_EQ(transfer_us({}, 1 << 10, true), 0);
}

// The times are the machine's; this tests that all ranks get the same, also a rank that takes no part.
TEST(TransferTime, IsMeasuredByTheFirstTwoRanks) {
    run_thread_ranks(3, [](Communicator& comm) {
        constexpr std::size_t most = std::size_t{64}
                                     << 10;  // on a loaded machine all take a minute
        TransferTimes const measured = measure_transfer_times(
            comm, [&] { comm.barrier(); }, most);
        for (auto const& times : {measured.exchanges, measured.hand_overs}) {
            int found = static_cast<int>(times.size());
            comm.broadcast(std::span(&found, 1));
            ASSERT_EQ(found, static_cast<int>(times.size()));
            std::size_t before = 0;
            for (TransferTime const& time : times) {
                EXPECT_GT(time.bytes, before);
                EXPECT_LE(time.bytes, most);
                before = time.bytes;
                EXPECT_GT(time.in_sequence.us, 0);
                EXPECT_GT(time.single.us, 0);
                std::array us{time.in_sequence.us, time.single.us};
                comm.broadcast(std::span(us));
                EXPECT_EQ(us, (std::array{time.in_sequence.us, time.single.us}));
            }
        }
    });
}

TEST(TransferTime, NeedsTwoRanks) {
    run_thread_ranks(1, [](Communicator& comm) {
        EXPECT_TRUE(measure_transfer_times(comm, [] {}).exchanges.empty());
    });
}

}  // namespace
}  // namespace sinew::bench
