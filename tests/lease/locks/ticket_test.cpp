// SPDX-License-Identifier: Apache-2.0
#include "src/lease/locks/ticket.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "src/lease/locks/layout.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::lease {
namespace {

class TicketTest : public testing::Test {
protected:
    testing_support::TempFolder temporary_;
    std::string const folder_ = temporary_.path() / "leases";
};

TEST_F(TicketTest, StandsBehindAllOthers) {
    LockFile const files[]{LockFile(folder_), LockFile(folder_), LockFile(folder_)};
    std::optional<Ticket> first(files[0]), second(files[1]), third(files[2]);
    EXPECT_FALSE(first->predecessor());
    EXPECT_EQ(third->ahead(), 2U);
    auto const before_third = third->predecessor();
    second.reset();
    EXPECT_NE(third->predecessor(), before_third);
    EXPECT_EQ(third->ahead(), 1U);
    second.emplace(files[1]);
    EXPECT_EQ(second->ahead(), 2U) << "it was behind the first one before";
    first.reset();
    EXPECT_FALSE(third->predecessor());
    EXPECT_TRUE(second->predecessor());
}

// Newcomers find the queue empty or moving, and take places that others just leave.
TEST_F(TicketTest, IsFirstForOneAtATimeHoweverManyComeAndGo) {
    constexpr int threads = 6;
    constexpr auto duration = std::chrono::milliseconds(1000);
    std::atomic<int> first{0}, violations{0}, turns{0};
    auto const end = std::chrono::steady_clock::now() + duration;
    std::vector<std::jthread> running;
    for (int i = 0; i < threads; ++i)
        running.emplace_back([&] {
            LockFile const file(folder_);
            while (std::chrono::steady_clock::now() < end) {
                Ticket const ticket(file);
                // One in a few goes without its turn, as a process that is killed.
                bool mine = true;
                for (int look = 0; ticket.predecessor(); ++look)
                    if (look == 3) {
                        mine = false;
                        break;
                    }
                if (!mine) continue;
                if (first.fetch_add(1) != 0) ++violations;
                ++turns;
                std::this_thread::yield();  // others look for places meanwhile
                first.fetch_sub(1);
            }
        });
    running.clear();
    EXPECT_EQ(violations, 0);
    EXPECT_GT(turns, 0);
}

}  // namespace
}  // namespace sinew::lease
