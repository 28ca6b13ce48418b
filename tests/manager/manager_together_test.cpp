// SPDX-License-Identifier: Apache-2.0
// Combinations of deferred answers, checkpoints, restarts and calls of objects that have not
// arrived.
#include <gmock/gmock.h>

#include <csignal>
#include <sinew/manager.hpp>
#include <thread>

#include "tests/manager/support/gauge.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::Pair;

struct ManagerTogether : testing::Test {
    LeakCheck leaks;
};

template <class Handle>
void refresh_after_death(Manager& manager, Handle& handle) {
    ::kill(manager.pid(), SIGKILL);
    auto const lost = [&] {
        try {
            handle.checkpoint();
            return false;
        } catch (ObjectRestarted const&) {
            return true;
        }
    };
    ASSERT_TRUE(eventually(lost));
    handle.refresh();
}

TEST_F(ManagerTogether, WhatIsAnsweredLaterIsKeptBefore) {
    Manager manager({.max_restarts = 100});
    auto gauge = manager.create<Gauge>();
    std::int64_t level = 0;
    for (int i = 0; i < 15; ++i) {
        auto const reply = gauge.async<&Gauge::reached>(level + 3);
        gauge.oneway<&Gauge::rise>(3);
        level = reply.get(20s);
        refresh_after_death(manager, gauge);
        EXPECT_GE(gauge.call<&Gauge::level>(), level) << "after death " << i + 1;
        level = gauge.call<&Gauge::level>();
    }
}

TEST_F(ManagerTogether, WhoWaitedHearsOfTheRestart) {
    Manager manager({.max_restarts = 3});
    auto gauge = manager.create<Gauge>();
    auto lock = manager.lock();
    lock.lock();
    auto const reached = gauge.async<&Gauge::reached>(1);
    auto const locked = lock.async().lock();
    gauge.call<&Gauge::level>();  // their calls are waiting
    ::kill(manager.pid(), SIGKILL);
    EXPECT_THROW(reached.get(20s), ObjectRestarted);
    EXPECT_THROW(locked.get(20s), ObjectRestarted);
    lock.refresh();
    EXPECT_TRUE(lock.try_lock()) << "a lock of a new life is nobody's";
    lock.unlock();
}

TEST_F(ManagerTogether, WhatIsNotThereYetMayAnswerLater) {
    Manager manager;
    auto gauges = manager.create<Gauges>();
    auto const gauge = gauges.async<&Gauges::add>();
    auto const reached = gauge.async<&Gauge::reached>(5);
    gauge.oneway<&Gauge::rise>(5);
    EXPECT_EQ(reached.get(20s), 5);
    auto const never = gauge.async<&Gauge::reached>(1000);
    EXPECT_EQ(get_within(never, 10ms), std::nullopt);
    EXPECT_THROW(never.get(20s), Cancelled);
    EXPECT_TRUE(eventually([&] { return gauge.get().call<&Gauge::waiting>() == 0; }));
}

TEST_F(ManagerTogether, WhatIsReadyMadeOutlivesADeath) {
    Manager manager({.max_restarts = 10, .checkpoints = {.every_calls = 1}});
    auto list = manager.list<int>({1});
    auto dict = manager.dict<std::string, int>();
    auto value = manager.value<std::string>("a");
    auto array = manager.array<double>(3);
    auto counter = manager.counter();
    list.push_back(2);
    dict.set("x", 3);
    value.set("b");
    array.set(1, 0.5);
    counter.add(7);
    refresh_after_death(manager, list);
    dict.refresh();
    value.refresh();
    array.refresh();
    counter.refresh();
    EXPECT_THAT(list.copy(), ElementsAre(1, 2));
    EXPECT_THAT(dict.items(), ElementsAre(Pair("x", 3)));
    EXPECT_EQ(value.get(), "b");
    EXPECT_THAT(array.copy(), ElementsAre(0.0, 0.5, 0.0));
    EXPECT_EQ(counter.get(), 7);
}

}  // namespace
}  // namespace sinew::testing_support
