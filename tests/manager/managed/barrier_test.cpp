// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <csignal>
#include <set>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <thread>
#include <vector>

#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using managed::Barrier;
using managed::Semaphore;

struct ManagedBarrier : testing::Test {
    LeakCheck leaks;
    Manager manager;
};

int meet(Barrier const& barrier, int times) {
    for (int i = 0; i < times; ++i) barrier.wait();
    return 0;
}

TEST_F(ManagedBarrier, AllMeetAgainAndAgain) {
    auto const barrier = manager.barrier(3);
    Process one(task<meet>, barrier, 20), two(task<meet>, barrier, 20);
    one.start();
    two.start();
    meet(barrier, 20);
    one.join();
    two.join();
    EXPECT_EQ(one.exitcode(), 0);
    EXPECT_EQ(barrier.waiting(), 0U);
    EXPECT_FALSE(barrier.broken());
}

TEST_F(ManagedBarrier, EachHasANumberOfItsOwn) {
    auto const barrier = manager.barrier(4).async();
    std::vector<Reply<std::size_t>> waiting;
    for (int i = 0; i < 4; ++i) waiting.push_back(barrier.wait());
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(waiting[i].get(), i);
    EXPECT_EQ(barrier.parties().get(), 4U);
}

TEST_F(ManagedBarrier, IsBrokenByWhoDoesNotWait) {
    auto const barrier = manager.barrier(3);
    auto const waiting = barrier.async().wait();
    EXPECT_THROW(barrier.wait_for(20ms), BrokenBarrier);
    EXPECT_THROW(waiting.get(), BrokenBarrier);
    EXPECT_TRUE(barrier.broken());
    EXPECT_THROW(barrier.wait(), BrokenBarrier);
    barrier.reset();
    EXPECT_FALSE(barrier.broken());
    auto const again = barrier.async().wait();
    barrier.abort();
    EXPECT_THROW(again.get(), BrokenBarrier);
    barrier.reset();
    auto const cancelled = barrier.async().wait(), left = barrier.async().wait();
    EXPECT_EQ(barrier.waiting(), 2U);
    cancelled.cancel();
    EXPECT_THROW(left.get(10s), BrokenBarrier);
}

int wait_and_hang(Barrier const& barrier, managed::Event const& there) {
    auto const waiting = barrier.async().wait();
    barrier.waiting();
    there.set();
    waiting.wait();
    return 0;
}

TEST_F(ManagedBarrier, IsBrokenWhenOneIsKilled) {
    auto const barrier = manager.barrier(3);
    auto const there = manager.event();
    Process process(task<wait_and_hang>, barrier, there);
    process.start();
    there.wait();
    auto const waiting = barrier.async().wait();
    EXPECT_EQ(barrier.waiting(), 2U);
    auto const begin = std::chrono::steady_clock::now();
    ::kill(process.pid(), SIGKILL);
    EXPECT_THROW(waiting.get(), BrokenBarrier);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
    process.join();
}

TEST_F(ManagedBarrier, SemaphoresCount) {
    auto const semaphore = manager.semaphore(2);
    semaphore.acquire();
    EXPECT_TRUE(semaphore.try_acquire());
    EXPECT_FALSE(semaphore.try_acquire());
    EXPECT_FALSE(semaphore.try_acquire_for(20ms));
    auto const one = semaphore.async().acquire(), two = semaphore.async().acquire();
    semaphore.release();
    one.get();
    EXPECT_FALSE(two.ready());
    semaphore.release(3);
    two.get();
    EXPECT_EQ(semaphore.value(), 2);
    EXPECT_THROW(semaphore.release(0), UsageError);
    EXPECT_THROW(manager.semaphore(-1), UsageError);
}

TEST_F(ManagedBarrier, BoundedOnesHaveNoMoreThanAtFirst) {
    auto const semaphore = manager.bounded_semaphore(2);
    EXPECT_THROW(semaphore.release(), UsageError);
    semaphore.acquire();
    semaphore.release();
    EXPECT_EQ(semaphore.value(), 2);
    EXPECT_THROW(manager.bounded_semaphore(0), UsageError);
}

int acquire_and_die(Semaphore const& semaphore) {
    semaphore.acquire();
    semaphore.acquire();
    ::raise(SIGKILL);
    return 0;
}

TEST_F(ManagedBarrier, BoundedOnesTakeBackWhatTheDeadHad) {
    auto const bounded = manager.bounded_semaphore(2);
    Process process(task<acquire_and_die>, bounded);
    process.start();
    process.join();
    EXPECT_TRUE(bounded.try_acquire_for(10s));
    EXPECT_TRUE(bounded.try_acquire_for(10s));
    EXPECT_FALSE(bounded.try_acquire());
    auto const free = manager.semaphore(2);
    Process other(task<acquire_and_die>, free);
    other.start();
    other.join();
    EXPECT_FALSE(free.try_acquire_for(300ms)) << "a count, which is nobody's";
}

int unlock_for_another(Semaphore const& semaphore) {
    semaphore.release();
    return 0;
}

TEST_F(ManagedBarrier, APermitMayBeReleasedByAnotherProcess) {
    auto const semaphore = manager.bounded_semaphore(1);
    semaphore.acquire();
    Process process(task<unlock_for_another>, semaphore);
    process.start();
    process.join();
    EXPECT_EQ(process.exitcode(), 0);
    EXPECT_EQ(semaphore.value(), 1);
}

}  // namespace
}  // namespace sinew::testing_support
