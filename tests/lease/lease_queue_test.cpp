// SPDX-License-Identifier: Apache-2.0
// Processes that wait for one another's leases.
#include <gmock/gmock.h>

#include <fstream>
#include <list>
#include <sinew/lease.hpp>
#include <sstream>

#include "tests/lease/support/lessee.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::lease::test {
namespace {

using testing::Optional;

/// A host with GPUs that only the configuration knows.
class LeaseQueue : public testing::Test {
protected:
    explicit LeaseQueue(int gpus = 4) { options_.gpus_of_host = gpus; }

    bool gpu_is_taken(int index) const { return is_locked(folder(), layout::gpu_number(index)); }
    bool queue_becomes(int length) const {
        return eventually([&] { return sleep_in_queue(folder(), length); });
    }
    std::string const& folder() const { return options_.folder; }

    Environment environment_{{"FAKE_NVML", "fails 9"}};
    testing_support::TempFolder temporary_;
    LeaseOptions options_{.folder = temporary_.path() / "leases"};
};

// The example of the GPU service whose rules these are: four GPUs; A has 0 and 1; B wants three,
// takes 2 and 3, and waits; C wants one and waits for the system lock; A ends; B runs on 0, 2 and 3;
// then C gets 1, and runs beside B.
TEST_F(LeaseQueue, ServesAAndThenBAndThenCBesideB) {
    Lessee a(2, options_);
    ASSERT_THAT(a.answer(), Optional(std::string("0,1")));

    Lessee b(3, options_);
    ASSERT_TRUE(eventually([&] { return gpu_is_taken(2) && gpu_is_taken(3); }));
    EXPECT_TRUE(b.waits());

    Lessee c(1, options_);
    ASSERT_TRUE(queue_becomes(2));
    EXPECT_TRUE(c.waits());
    EXPECT_TRUE(b.waits());

    a.end();
    EXPECT_THAT(b.answer(), Optional(std::string("0,2,3")));
    EXPECT_THAT(c.answer(), Optional(std::string("1")));
    EXPECT_EQ(queue_length(folder()), 0);
    for (int index = 0; index < 4; ++index) EXPECT_TRUE(gpu_is_taken(index));
    b.end();
    c.end();
    for (int index = 0; index < 4; ++index) EXPECT_FALSE(gpu_is_taken(index));
}

TEST_F(LeaseQueue, ServesAAndThenBAndThenCBesideBAlsoIfAIsKilled) {
    Lessee a(2, options_);
    ASSERT_THAT(a.answer(), Optional(std::string("0,1")));
    Lessee b(3, options_);
    ASSERT_TRUE(queue_becomes(1));
    Lessee c(1, options_);
    ASSERT_TRUE(queue_becomes(2));
    a.kill();
    EXPECT_THAT(b.answer(), Optional(std::string("0,2,3")));
    EXPECT_THAT(c.answer(), Optional(std::string("1")));
}

TEST_F(LeaseQueue, DoesNotLetASmallRequestOvertakeALargeOne) {
    Lessee a(1, options_);
    ASSERT_TRUE(a.answer());
    Lessee large(4, options_);
    ASSERT_TRUE(queue_becomes(1));
    Lessee small(1, options_);
    ASSERT_TRUE(queue_becomes(2));
    EXPECT_FALSE(small.answer(Seconds(0.1))) << "three GPUs are free, but the large one is first";
    EXPECT_FALSE(Lease::try_acquire({.gpus = 1}, options_)) << "nor one that does not wait";
    a.end();
    EXPECT_THAT(large.answer(), Optional(std::string("0,1,2,3")));
    EXPECT_TRUE(small.waits());
    large.end();
    EXPECT_THAT(small.answer(), Optional(std::string("0")));
}

TEST_F(LeaseQueue, GoesOnWithoutTheDeadWhereverTheyStood) {
    Lessee a(4, options_);
    ASSERT_TRUE(a.answer());
    std::list<Lessee> waiting;
    for (int i = 0; i < 4; ++i) {
        waiting.emplace_back(4, options_);
        ASSERT_TRUE(queue_becomes(i + 1));
    }
    auto const at = [&](int index) { return std::next(waiting.begin(), index); };
    at(2)->kill();  // in the middle
    at(0)->kill();  // the one whose turn it is
    EXPECT_TRUE(queue_becomes(2));
    a.kill();
    EXPECT_THAT(at(1)->answer(), Optional(std::string("0,1,2,3")));
    EXPECT_TRUE(at(3)->waits());
    at(1)->kill();
    EXPECT_THAT(at(3)->answer(), Optional(std::string("0,1,2,3")));
}

TEST_F(LeaseQueue, KeepsTheOrderOfTwentyProcesses) {
    constexpr int processes = 20;
    auto const log = temporary_.path() / "order";
    Lessee first(4, options_);
    ASSERT_TRUE(first.answer());
    std::list<testing_support::Child> children;
    for (int number = 0; number < processes; ++number) {
        children.push_back(fork_child([&] {
            auto const lease = Lease::acquire({.gpus = number % 4 + 1}, options_);
            std::ofstream(log, std::ios::app) << number << ' ' << std::flush;
            return 0;
        }));
        ASSERT_TRUE(queue_becomes(number + 1));
    }
    first.end();
    for (auto& child : children) EXPECT_EQ(child.wait(), 0);
    std::ifstream in(log);
    std::vector<int> order;
    for (int number = 0; in >> number;) order.push_back(number);
    ASSERT_EQ(order.size(), static_cast<std::size_t>(processes));
    // Those that fit beside each other may write in any order; the others have the order of the queue.
    for (int i = 0; i + 3 < processes; i += 4)
        EXPECT_EQ(order[static_cast<std::size_t>(i) + 3], i + 3) << testing::PrintToString(order);
}

TEST_F(LeaseQueue, GoesOnWhenMoreLeasesEndThanOneWaitCanWatch) {
    constexpr int leases = 70;
    options_.memory_of_host = leases;
    std::list<Lessee> holders;
    for (int i = 0; i < leases; ++i)
        holders.emplace_back(LeaseRequest{.memory_bytes = 1}, options_);
    for (auto& holder : holders) ASSERT_THAT(holder.answer(), Optional(std::string("none")));
    EXPECT_EQ(count_locks(folder(), layout::holders), leases);
    Lessee all({.memory_bytes = leases}, options_);
    ASSERT_TRUE(queue_becomes(1));
    while (!holders.empty()) {
        EXPECT_TRUE(all.waits());
        holders.back().kill();
        holders.pop_back();
    }
    EXPECT_THAT(all.answer(), Optional(std::string("none")));
}

/// The same with one GPU: there is only one order.
class LeaseQueueOfOneGpu : public LeaseQueue {
protected:
    LeaseQueueOfOneGpu() : LeaseQueue(1) {}
};

TEST_F(LeaseQueueOfOneGpu, ServesTwentyProcessesInTheOrderInWhichTheyCame) {
    constexpr int processes = 20;
    auto const log = temporary_.path() / "order";
    Lessee first(1, options_);
    ASSERT_TRUE(first.answer());
    std::list<testing_support::Child> children;
    std::string expected;
    for (int number = 0; number < processes; ++number) {
        children.push_back(fork_child([&] {
            auto const lease = Lease::acquire({.gpus = 1}, options_);
            std::ofstream(log, std::ios::app) << number << ' ' << std::flush;
            return 0;
        }));
        expected += std::to_string(number) + ' ';
        ASSERT_TRUE(queue_becomes(number + 1));
    }
    first.kill();
    for (auto& child : children) EXPECT_EQ(child.wait(), 0);
    std::ostringstream written;
    written << std::ifstream(log).rdbuf();
    EXPECT_EQ(written.str(), expected);
}

TEST_F(LeaseQueueOfOneGpu, WakesTheNextOneWhenTheHolderIsKilled) {
    constexpr int rounds = 30;
    using Clock = std::chrono::steady_clock;
    std::vector<double> milliseconds;
    auto holder = std::make_unique<Lessee>(1, options_);
    ASSERT_TRUE(holder->answer());
    for (int round = 0; round < rounds; ++round) {
        auto next = std::make_unique<Lessee>(1, options_);
        ASSERT_TRUE(queue_becomes(1));
        std::this_thread::sleep_for(std::chrono::milliseconds(2));  // so that it sleeps
        auto const killed = Clock::now();
        holder->signal(SIGKILL);
        ASSERT_THAT(next->answer(), Optional(std::string("0")));
        milliseconds.push_back(
            std::chrono::duration<double, std::milli>(Clock::now() - killed).count());
        holder = std::move(next);
    }
    std::ranges::sort(milliseconds);
    std::printf("from SIGKILL to the next lease: median %.2f ms, most %.2f ms of %d\n",
                milliseconds[rounds / 2], milliseconds.back(), rounds);
    std::fflush(stdout);  // before the next fork
}

}  // namespace
}  // namespace sinew::lease::test
