// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <sinew/manager.hpp>
#include <sinew/pool.hpp>
#include <sinew/process.hpp>
#include <thread>
#include <vector>

#include "tests/manager/support/counter.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using managed::Lock;

struct ManagedLock : testing::Test {
    LeakCheck leaks;
    Manager manager;
};

TEST_F(ManagedLock, IsALock) {
    auto const lock = manager.lock();
    {
        std::lock_guard const held(lock);
        EXPECT_FALSE(lock.try_lock());
        EXPECT_FALSE(lock.try_lock_for(20ms));
    }
    std::unique_lock held(lock, std::try_to_lock);
    EXPECT_TRUE(held.owns_lock());
    held.unlock();
    EXPECT_TRUE(held.try_lock_for(10s));
    EXPECT_FALSE(lock.try_lock_until(std::chrono::system_clock::now() + 10ms));
    held.unlock();
    EXPECT_THROW(lock.unlock(), UsageError);
    EXPECT_TRUE(lock.try_lock());
}

int unlock(Lock const& lock) {
    lock.unlock();
    return 0;
}

TEST_F(ManagedLock, IsUnlockedByAnybody) {
    auto const lock = manager.lock();
    lock.lock();
    Process process(task<unlock>, lock);
    process.start();
    lock.lock();
    process.join();
    EXPECT_EQ(process.exitcode(), 0);
}

// Reading and writing back are separate calls: without the lock, updates would be lost.
int count_up(Lock const& lock, Object<Counter> const& counter, int times) {
    for (int i = 0; i < times; ++i) {
        std::lock_guard const held(lock);
        int const seen = counter.call<&Counter::value>();
        counter.call<&Counter::add>(seen + 1 - counter.call<&Counter::value>());
    }
    return 0;
}

TEST_F(ManagedLock, KeepsProcessesAndThreadsApart) {
    auto const lock = manager.lock();
    auto const counter = manager.create<Counter>(0);
    Process one(task<count_up>, lock, counter, 100), two(task<count_up>, lock, counter, 100);
    one.start();
    two.start();
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([&] { count_up(lock, counter, 25); });
    }
    one.join();
    two.join();
    EXPECT_EQ(counter.call<&Counter::value>(), 400);
}

TEST_F(ManagedLock, TravelsIntoTasks) {
    auto const lock = manager.lock();
    auto const counter = manager.create<Counter>(0);
    Pool pool(2);
    std::vector<int> const times(10, 10);
    pool.starmap(task<count_up>, [&] {
        std::vector<std::tuple<Lock, Object<Counter>, int>> all;
        for (int const each : times) all.emplace_back(lock, counter, each);
        return all;
    }());
    EXPECT_EQ(counter.call<&Counter::value>(), 100);
}

int lock_and_hang(Lock const& lock, managed::Event const& locked) {
    lock.lock();
    locked.set();
    std::this_thread::sleep_for(60s);
    return 0;
}

TEST_F(ManagedLock, OfOneThatIsKilledIsTheNextOnes) {
    auto const lock = manager.lock();
    auto const locked = manager.event();
    Process process(task<lock_and_hang>, lock, locked);
    process.start();
    locked.wait();
    EXPECT_FALSE(lock.try_lock());
    auto const first = lock.async().lock(), second = lock.async().lock();
    EXPECT_FALSE(first.wait_for(50ms));
    auto const begin = std::chrono::steady_clock::now();
    ::kill(process.pid(), SIGKILL);
    EXPECT_TRUE(first.get());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 2s);
    EXPECT_FALSE(second.ready());
    process.join();
}

int lock_and_end(Lock const& lock) {
    lock.lock();
    return 0;
}

TEST_F(ManagedLock, OfOneThatForgetsItIsTheNextOnes) {
    auto const lock = manager.lock();
    Process process(task<lock_and_end>, lock);
    process.start();
    process.join();
    EXPECT_EQ(process.exitcode(), 0);
    EXPECT_TRUE(lock.try_lock_for(10s));
}

TEST_F(ManagedLock, IsRecursiveForItsThread) {
    auto const lock = manager.recursive_lock();
    lock.lock();
    EXPECT_TRUE(lock.try_lock());
    std::jthread([&] {
        EXPECT_FALSE(lock.try_lock());
        EXPECT_THROW(lock.unlock(), UsageError);
    }).join();
    lock.unlock();
    std::jthread([&] { EXPECT_FALSE(lock.try_lock_for(10ms)); }).join();
    lock.unlock();
    std::jthread([&] {
        EXPECT_TRUE(lock.try_lock());
        lock.unlock();
    }).join();
    EXPECT_THROW(lock.unlock(), UsageError);
}

TEST_F(ManagedLock, WaitersAreServedInTheirOrder) {
    auto const lock = manager.lock();
    lock.lock();
    std::vector<Reply<bool>> waiting;
    for (int i = 0; i < 1000; ++i) waiting.push_back(lock.async().lock());
    for (std::size_t i = 0; i < waiting.size(); i += 2) waiting[i].cancel();
    for (std::size_t i = 1; i < waiting.size(); i += 2) {
        EXPECT_FALSE(waiting[i].ready());
        lock.unlock();
        EXPECT_TRUE(waiting[i].get());
    }
    lock.unlock();
    EXPECT_THROW(lock.unlock(), UsageError);
}

// A caller that gives up when it would be granted the lock gets it or not; the lock is never lost.
TEST_F(ManagedLock, IsGrantedToSomebody) {
    auto const lock = manager.lock();
    std::atomic<int> inside{0}, times{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i)
            threads.emplace_back([&, i] {
                for (int round = 0; round < 100; ++round) {
                    if (!lock.try_lock_for(std::chrono::microseconds(50 * i))) continue;
                    EXPECT_EQ(++inside, 1);
                    ++times;
                    --inside;
                    lock.unlock();
                }
            });
    }
    EXPECT_TRUE(lock.try_lock());
    EXPECT_GT(times.load(), 0);
}

TEST_F(ManagedLock, EndsWithItsManager) {
    auto const lock = manager.lock();
    lock.lock();
    auto const waits = lock.async().lock();
    ::kill(manager.pid(), SIGKILL);
    EXPECT_THROW(waits.get(), ObjectLost);
    lock.unlock();
    EXPECT_THROW(lock.lock(), ObjectLost);
}

TEST_F(ManagedLock, IsFoundByItsName) {
    manager.lock().publish("door");
    auto const lock = manager.lookup<Lock>("door");
    lock.lock();
    EXPECT_FALSE(manager.lookup<Lock>("door").try_lock());
    EXPECT_THROW(manager.lookup<managed::Event>("door"), UsageError);
}

}  // namespace
}  // namespace sinew::testing_support
