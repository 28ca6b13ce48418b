// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <string>
#include <thread>
#include <vector>

#include "src/base/text.hpp"
#include "tests/manager/support/counter.hpp"
#include "tests/support/child.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// The time at which answers arrive, and the threads that handle them.
struct ManagerPrompt : testing::Test {
    LeakCheck leaks;
};

// The calls are made consecutively and sent in one frame.
TEST_F(ManagerPrompt, AnAnswerDoesNotWaitForALongCallBehindIt) {
    Manager manager;
    auto counter = manager.create<Counter>();
    for (int round = 0; round < 10; ++round) counter.call<&Counter::add>(0);
    auto const began = Clock::now();
    std::vector<Reply<int>> brief;
    for (int i = 0; i < 3; ++i) brief.push_back(counter.async<&Counter::add>(1));
    auto const slow = counter.async<&Counter::slowly>(3000);
    for (auto const& each : brief) each.get();
    EXPECT_LT(Clock::now() - began, 2s);
    EXPECT_FALSE(slow.ready());
    slow.get();
}

TEST_F(ManagerPrompt, NorBehindSeveralThreads) {
    Manager manager;
    auto first = manager.create<Counter>(), second = manager.create<Counter>();
    auto const occupied = first.async<&Counter::slowly>(3000);
    auto const began = Clock::now();
    // After some rounds another thread executes these calls, one after the other.
    for (int round = 0; round < 20; ++round) second.call<&Counter::add>(1);
    auto const brief = second.async<&Counter::add>(1);
    auto const slow = second.async<&Counter::slowly>(3000);
    EXPECT_EQ(brief.get(), 21);
    EXPECT_LT(Clock::now() - began, 2s);
    slow.get();
    occupied.get();
}

TEST_F(ManagerPrompt, ShortCallsBesideALongOneAreAnswered) {
    Manager manager;
    auto busy = manager.create<Counter>(), idle = manager.create<Counter>();
    for (int i = 0; i < 100; ++i) idle.call<&Counter::add>(1);
    auto const began = Clock::now();
    auto const slow = busy.async<&Counter::slowly>(3000);
    for (int i = 101; i <= 200; ++i) EXPECT_EQ(idle.call<&Counter::add>(1), i);
    EXPECT_LT(Clock::now() - began, 2500ms);
    // Making an object needs no new connection, but the manager must still read messages.
    auto late = manager.create<Counter>(5);
    EXPECT_EQ(late.call<&Counter::value>(), 5);
    EXPECT_FALSE(slow.ready());
    slow.get();
}

TEST_F(ManagerPrompt, EightThreadsCallAtOnce) {
    Manager manager;
    auto counter = manager.create<Counter>();
    constexpr int calls = 2000;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < 8; ++thread)
        threads.emplace_back([counter] {
            int last = 0;
            for (int i = 0; i < calls; ++i) {
                int const now = counter.call<&Counter::add>(1);
                ASSERT_GT(now, last);
                last = now;
            }
        });
    for (auto& each : threads) each.join();
    EXPECT_EQ(counter.call<&Counter::value>(), 8 * calls);
}

TEST_F(ManagerPrompt, TimeoutsAreKeptByWhoDrives) {
    Manager manager;
    auto counter = manager.create<Counter>();
    for (int round = 0; round < 5; ++round) {
        for (int i = 0; i < 50; ++i) counter.call<&Counter::add>(1);
        auto const slow = counter.async<&Counter::slowly>(300);
        auto const began = Clock::now();
        EXPECT_THROW(slow.get(50ms), Timeout);
        EXPECT_GE(Clock::now() - began, 50ms);
        EXPECT_FALSE(slow.wait_for(0ms));
        EXPECT_EQ(slow.get(), counter.call<&Counter::value>());
    }
}

/// Calls of about 0.1 ms each.
struct Shortly {
    /// The maximum number of objects called at the same time in this process.
    int crowd() {
        int const now = ++inside;
        std::this_thread::sleep_for(20us);
        --inside;
        return now;
    }
    static inline std::atomic<int> inside{0};
};

// A thread that has had only one object may drive the loop itself, and would keep others waiting.
TEST_F(ManagerPrompt, ObjectsAreCalledAtTheSameTimeAfterOneWasCalledAlone) {
    Manager manager;
    std::array<Object<Shortly>, 2> const objects{manager.create<Shortly>(),
                                                 manager.create<Shortly>()};
    constexpr int calls = 2000;
    for (int i = 0; i < 200; ++i) EXPECT_EQ(objects[0].call<&Shortly::crowd>(), 1);
    std::atomic<int> together{0};
    std::vector<std::thread> threads;
    for (auto const& each : objects)
        threads.emplace_back([&] {
            for (int i = 0; i < calls; ++i)
                if (each.call<&Shortly::crowd>() > 1) ++together;
        });
    for (auto& each : threads) each.join();
    EXPECT_GT(together, calls / 10);
}

/// Calls of calls, in managers that call each other.
struct Link {
    int down(int depth, Object<Link> const& other, Object<Link> const& self) {
        return depth == 0 ? 0 : 1 + other.call<&Link::step>(depth - 1, other, self);
    }
    int step(int depth, Object<Link> const&, Object<Link> const&) { return depth; }
    int relay(Object<Counter> const& to, int times) {
        int last = 0;
        for (int i = 0; i < times; ++i) last = to.call<&Counter::add>(1);
        return last;
    }
};

TEST_F(ManagerPrompt, ManagersCallEachOther) {
    Manager first, second;
    auto here = first.create<Link>(), there = second.create<Link>();
    auto counter_here = first.create<Counter>(), counter_there = second.create<Counter>();
    constexpr int times = 2000;
    std::vector<std::thread> threads;
    threads.emplace_back([=] { EXPECT_EQ(here.call<&Link::relay>(counter_there, times), times); });
    threads.emplace_back([=] { EXPECT_EQ(there.call<&Link::relay>(counter_here, times), times); });
    for (auto& each : threads) each.join();
    EXPECT_EQ((here.call<&Link::down>(7, there, here)), 7);
}

int wait_for_ever(Object<Counter> const& counter, int threads) {
    for (int i = 0; i < 200; ++i) counter.call<&Counter::add>(1);
    std::atomic<int> begun{0};
    for (int i = 0; i < threads; ++i)
        std::thread([&counter, &begun] {
            auto const slow = counter.async<&Counter::slowly>(60'000);
            ++begun;
            try {
                slow.get();
            } catch (Unavailable const&) {
                for (;;) ::pause();  // the program is about to end
            }
        }).detach();
    while (begun < threads) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(50ms);
    ::exit(7);
}

TEST_F(ManagerPrompt, AProcessMayEndWhileThreadsWait) {
    ManagerOptions options;
    options.grace = 100ms;
    Manager manager(options);
    for (int threads : {1, 3}) {
        auto counter = manager.create<Counter>();
        auto const began = Clock::now();
        Process process(task<wait_for_ever>, counter, threads);
        process.start();
        process.join();
        EXPECT_EQ(process.exitcode(), 7);
        EXPECT_LT(Clock::now() - began, 20s);
    }
    manager.shutdown();
}

TEST_F(ManagerPrompt, ForksAreRefused) {
    Manager manager;
    auto counter = manager.create<Counter>();
    for (int i = 0; i < 100; ++i) counter.call<&Counter::add>(1);
    auto const slow = counter.async<&Counter::slowly>(300);
    Child fork([&] {
        try {
            slow.get();
            return 1;
        } catch (UsageError const&) {}
        try {
            counter.call<&Counter::add>(1);
            return 2;
        } catch (UsageError const&) {
            return 0;
        }
    });
    EXPECT_EQ(WEXITSTATUS(fork.wait()), 0);
    EXPECT_EQ(slow.get(), 101);
    EXPECT_EQ(counter.call<&Counter::add>(1), 102);
}

// Voluntary context switches of all threads of a process.
long sleeps(pid_t pid) {
    long sum = 0;
    for (auto const& entry : std::filesystem::directory_iterator(text("/proc/", pid, "/task"))) {
        std::ifstream status(entry.path() / "status");
        for (std::string line; std::getline(status, line);)
            if (line.starts_with("voluntary_ctxt_switches:")) sum += std::stol(line.substr(24));
    }
    return sum;
}

TEST_F(ManagerPrompt, NobodyWakesUpAtRest) {
    Manager manager;
    auto counter = manager.create<Counter>();
    for (int i = 0; i < 1000; ++i) counter.call<&Counter::add>(1);
    std::this_thread::sleep_for(100ms);
    auto const ours = sleeps(::getpid()), its = sleeps(manager.pid());
    std::this_thread::sleep_for(500ms);
    EXPECT_LT(sleeps(::getpid()) - ours, 20);
    EXPECT_LT(sleeps(manager.pid()) - its, 20);
}

}  // namespace
}  // namespace sinew::testing_support
