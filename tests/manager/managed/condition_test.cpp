// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <csignal>
#include <mutex>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <thread>
#include <vector>

#include "tests/manager/support/counter.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using managed::AsyncCondition;
using managed::Condition;
using managed::Event;
using managed::Lock;

struct ManagedCondition : testing::Test {
    LeakCheck leaks;
    Manager manager;
};

int wait_for(Event const& event) {
    event.wait();
    return 0;
}

TEST_F(ManagedCondition, EventsWakeAll) {
    auto const event = manager.event();
    EXPECT_FALSE(event.is_set());
    EXPECT_FALSE(event.wait_for(20ms));
    Process one(task<wait_for>, event), two(task<wait_for>, event);
    one.start();
    two.start();
    std::jthread thread([&] { event.wait(); });
    event.set();
    one.join();
    two.join();
    thread.join();  // it may come late, and must not wait for an event that has been cleared
    EXPECT_EQ(one.exitcode(), 0);
    EXPECT_TRUE(event.wait_for(0ms));
    event.clear();
    EXPECT_FALSE(event.is_set());
    EXPECT_FALSE(event.wait_for(20ms));
}

int consume(Condition const& changed, Object<Counter> const& stock) {
    std::unique_lock const held(changed);
    changed.wait([&] { return stock.call<&Counter::value>() > 0; });
    stock.call<&Counter::add>(-1);
    return 0;
}

TEST_F(ManagedCondition, WakesWhoWaitsForAChange) {
    auto const lock = manager.lock();
    auto const changed = manager.condition(lock);
    auto const stock = manager.create<Counter>(0);
    Process consumer(task<consume>, changed, stock);
    consumer.start();
    std::jthread const another([&] { consume(changed, stock); });
    for (int i = 0; i < 2; ++i) {
        std::lock_guard const held(lock);
        stock.call<&Counter::add>(1);
        changed.notify_one();
    }
    consumer.join();
    EXPECT_EQ(consumer.exitcode(), 0);
}

TEST_F(ManagedCondition, NotifiesAsManyAsWanted) {
    auto const changed = manager.condition();
    std::vector<Reply<bool>> waiting;
    for (int i = 0; i < 3; ++i) {
        changed.lock();
        waiting.push_back(changed.async().wait());
        EXPECT_FALSE(waiting.back().ready());
    }
    changed.notify_one();
    EXPECT_TRUE(waiting[0].get());
    changed.notify_all();
    EXPECT_FALSE(waiting[1].wait_for(20ms)) << "the first has the lock";
    changed.unlock();
    EXPECT_TRUE(waiting[1].get());
    changed.unlock();
    EXPECT_TRUE(waiting[2].get());
    changed.unlock();
}

TEST_F(ManagedCondition, TimeIsUpWithTheLockHeld) {
    auto const changed = manager.condition();
    EXPECT_THROW(changed.wait(), UsageError) << "without the lock";
    changed.lock();
    changed.lock();
    EXPECT_FALSE(changed.wait_for(20ms));
    EXPECT_FALSE(changed.wait_for(20ms, [] { return false; }));
    std::jthread([&] { EXPECT_FALSE(changed.try_lock()); }).join();
    changed.unlock();
    std::jthread([&] { EXPECT_FALSE(changed.try_lock()) << "locked twice"; }).join();
    changed.unlock();
    std::jthread([&] {
        EXPECT_TRUE(changed.try_lock());
        changed.unlock();
    }).join();
}

int wait_and_be_killed(Condition const& changed) {
    changed.lock();
    static_cast<void>(changed.async().wait());
    changed.lock();
    changed.unlock();
    ::raise(SIGKILL);
    return 0;
}

TEST_F(ManagedCondition, OfAnAsyncManagerHasTheLockItIsGiven) {
    AsyncManager async;
    auto const lock = async.lock();
    AsyncCondition const one = async.condition(lock);
    AsyncCondition const other = async.condition(Lock(lock.object()));
    EXPECT_TRUE(lock.lock().get(10s));
    EXPECT_FALSE(one.lock().try_lock().get(10s));
    auto const waiting = one.wait();
    EXPECT_TRUE(other.lock().lock().get(10s));
    other.notify(1).get(10s);
    one.notify(1).get(10s);
    lock.unlock().get(10s);
    EXPECT_TRUE(waiting.get(10s));
}

TEST_F(ManagedCondition, DoesNotNotifyTheDead) {
    auto const changed = manager.condition();
    Process process(task<wait_and_be_killed>, changed);
    process.start();
    process.join();
    changed.lock();
    auto const waiting = changed.async().wait();
    changed.lock();
    EXPECT_FALSE(waiting.ready());
    changed.unlock();
    changed.notify_one();
    EXPECT_TRUE(waiting.get(10s));
}

}  // namespace
}  // namespace sinew::testing_support
