// SPDX-License-Identifier: Apache-2.0
// Calls of objects that have not arrived yet.
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/base/text.hpp"
#include "tests/manager/support/village.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

struct ManagerPipelining : testing::Test {
    LeakCheck leaks;
};

std::vector<int> numbers(int count) {
    std::vector<int> all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

TEST_F(ManagerPipelining, WhatACallWillGiveIsCalledAtOnce) {
    Manager manager;
    auto const village = manager.create<Village>();
    auto const unit = village.async<&Village::spawn_slowly>(300, 5);
    auto const moved = unit.async<&Unit::move>(1);
    auto const again = unit.async<&Unit::move>(10);
    EXPECT_FALSE(unit.ready());
    EXPECT_EQ(again.get(), 16);
    EXPECT_EQ(moved.get(), 6);
    EXPECT_EQ(unit.get().call<&Unit::at>(), 16) << "it is the same object";
    EXPECT_EQ(unit.call<&Unit::move>(1), 17) << "also when it is there";
    EXPECT_EQ(unit.call<&Unit::pid>(), manager.pid());
}

TEST_F(ManagerPipelining, AChainNeedsNobodyToWaitBetween) {
    Manager manager;
    auto const village = manager.create<Village>();
    auto const unit =
        village.async<&Village::found>().async<&Village::found>().async<&Village::spawn_slowly>(100,
                                                                                                1);
    auto const moved = unit.async<&Unit::move>(2);
    EXPECT_EQ(moved.get(), 3);
}

TEST_F(ManagerPipelining, WhereTheFirstFailsTheNextFailLikeIt) {
    Manager manager;
    auto const village = manager.create<Village>();
    auto const unit = village.async<&Village::refuse>("no room");
    auto const moved = unit.async<&Unit::move>(1);
    unit.oneway<&Unit::step>(1);
    try {
        moved.get();
        ADD_FAILURE() << "it was executed";
    } catch (std::out_of_range const& error) {
        EXPECT_STREQ(error.what(), "no room");
    }
    EXPECT_THROW(unit.get(), std::out_of_range);
    EXPECT_THROW(unit.call<&Unit::move>(1), std::out_of_range) << "later, too";
    EXPECT_EQ(village.async<&Village::spawn>(1).call<&Unit::at>(), 1);
}

TEST_F(ManagerPipelining, TheOrderIsKeptAlsoWithCallsOfTheHandle) {
    Manager home, elsewhere;
    auto const village = home.create<Village>();
    for (Manager* const place : {&home, &elsewhere}) {
        auto const there = place->create<Unit>(0);
        village.call<&Village::adopt>(there);
        auto const unit = village.async<&Village::adopted_slowly>(100);
        for (int i = 0; i < 100; ++i) unit.oneway<&Unit::step>(i);
        auto const handle = unit.get();
        for (int i = 100; i < 200; ++i) handle.oneway<&Unit::step>(i);
        for (int i = 200; i < 300; ++i) unit.oneway<&Unit::step>(i);
        EXPECT_EQ(handle.call<&Unit::steps>(), numbers(300));
        EXPECT_EQ(unit.call<&Unit::pid>(), place->pid());
    }
}

TEST_F(ManagerPipelining, ChainsCrossManagers) {
    Manager one, two;
    auto const first = one.create<Village>();
    auto const far = two.create<Unit>(7);
    first.call<&Village::adopt>(far);
    auto const unit = first.async<&Village::adopted_slowly>(50);
    std::vector<std::uint8_t> load(std::size_t{6} << 20, 1);
    auto const carried = unit.async<&Unit::carry>(load);
    auto const moved = unit.async<&Unit::move>(1);
    EXPECT_EQ(carried.get(), load.size());
    EXPECT_EQ(moved.get(), 8);
    auto const near = first.async<&Village::spawn_slowly>(50, 3);
    auto const near_carried = near.async<&Unit::carry>(load);
    EXPECT_EQ(near.async<&Unit::move>(1).get(), 4);
    EXPECT_EQ(near_carried.get(), load.size());
}

// The third call goes to the second manager after the first has reported where its object is.
struct ManagerPipeliningAcrossManagers : ManagerPipelining {
    ManagerPipeliningAcrossManagers() { mayor.call<&Village::befriend>(far); }
    Manager one, two;
    Object<Village> mayor = one.create<Village>();
    Object<Village> far = two.create<Village>();
};

TEST_F(ManagerPipeliningAcrossManagers, ThreeCallsAskedAtOnce) {
    auto const village = mayor.async<&Village::friend_slowly>(50);
    auto const unit = village.async<&Village::spawn_slowly>(50, 3);
    unit.oneway<&Unit::step>(1);
    auto const moved = unit.async<&Unit::move>(1);
    EXPECT_EQ(moved.get(60s), 4);
    EXPECT_EQ(unit.get(60s).call<&Unit::pid>(), two.pid());
    EXPECT_THAT(unit.get().call<&Unit::steps>(), ElementsAre(1));
}

TEST_F(ManagerPipeliningAcrossManagers, TheThirdCallAfterTheFirstHasAnswered) {
    auto const village = mayor.async<&Village::friend_slowly>(1);
    auto const unit = village.async<&Village::spawn_slowly>(300, 3);
    village.wait();
    std::vector<decltype(unit.async<&Unit::move>(1))> moved;
    for (int i = 0; i < 50; ++i) moved.push_back(unit.async<&Unit::move>(1));
    for (int i = 0; i < 50; ++i) EXPECT_EQ(moved[static_cast<std::size_t>(i)].get(60s), 4 + i);
}

TEST_F(ManagerPipeliningAcrossManagers, LongChains) {
    for (bool const waits : {false, true}) {
        auto const village = mayor.async<&Village::friend_slowly>(20);
        auto const next = village.async<&Village::found>();
        auto const third = next.async<&Village::found>();
        if (waits) village.wait();
        auto const unit = third.async<&Village::spawn_slowly>(20, 1);
        auto const moved = unit.async<&Unit::move>(1);
        EXPECT_EQ(moved.get(60s), 2);
        EXPECT_EQ(unit.async<&Unit::move>(1).get(60s), 3);
    }
}

TEST_F(ManagerPipeliningAcrossManagers, AFailureInTheMiddleIsThatOfAllBehindIt) {
    auto const village = mayor.async<&Village::friend_slowly>(50);
    auto const unit = village.async<&Village::refuse>("no room");
    auto const moved = unit.async<&Unit::move>(1);
    EXPECT_THROW(moved.get(60s), std::out_of_range);
    EXPECT_THROW(unit.get(60s), std::out_of_range);
    auto const nobody = mayor.async<&Village::friend_slowly>(300).async<&Village::found>();
    auto const behind = nobody.async<&Village::spawn>(1).async<&Unit::move>(1);
    two.shutdown();
    EXPECT_THROW(behind.get(60s), ObjectLost);
}

TEST_F(ManagerPipeliningAcrossManagers, WhatIsCancelledIsNotCalled) {
    auto const village = mayor.async<&Village::friend_slowly>(1);
    auto const unit = village.async<&Village::spawn_slowly>(300, 0);
    auto const early = unit.async<&Unit::move>(1);
    village.wait();
    auto const late = unit.async<&Unit::move>(10);
    auto const moved = unit.async<&Unit::move>(100);
    early.cancel();
    late.cancel();
    EXPECT_THROW(early.get(60s), Cancelled);
    EXPECT_THROW(late.get(60s), Cancelled);
    EXPECT_EQ(moved.get(60s), 100);
}

TEST_F(ManagerPipelining, ObjectsAreCalledBeforeTheyAreMade) {
    Manager manager;
    auto const unit = manager.create_async<Unit>(1);
    auto const moved = unit.async<&Unit::move>(1);
    EXPECT_EQ(moved.get(), 2);
    auto const handle = unit.get();
    EXPECT_EQ(handle.call<&Unit::at>(), 2);
    AsyncManager fast;
    auto const other = fast.create_async<Unit>(3);
    auto const there = other.call<&Unit::move>(4);
    EXPECT_EQ(there.get(), 7);
    EXPECT_EQ(other.get().call<&Unit::at>().get(), 7);
}

class Picky {
public:
    explicit Picky(int taste) {
        if (taste < 0) throw std::invalid_argument("tasteless");
    }
    int eat() { return 1; }
};

TEST_F(ManagerPipelining, WhatCannotBeMadeCannotBeCalled) {
    Manager manager;
    auto const picky = manager.create_async<Picky>(-1);
    auto const eaten = picky.async<&Picky::eat>();
    EXPECT_THROW(eaten.get(), std::invalid_argument);
    EXPECT_THROW(picky.get(), std::invalid_argument);
}

TEST_F(ManagerPipelining, WhatNobodyTookIsLetGo) {
    auto const file = std::filesystem::temp_directory_path() / text("sinew-unit-", ::getpid());
    std::filesystem::remove(file);
    Manager manager;
    {
        auto const unit = manager.create_async<Unit>(1, file.string());
        EXPECT_EQ(unit.async<&Unit::move>(1).get(), 2);
        EXPECT_FALSE(std::filesystem::exists(file));
    }
    EXPECT_TRUE(eventually([&] {
        manager.create<Unit>(1);  // releases are sent with the next call
        return std::filesystem::exists(file);
    }));
    std::filesystem::remove(file);
}

TEST_F(ManagerPipelining, CallsOfWhatIsNotThereYetCanBeCancelled) {
    Manager manager;
    auto const village = manager.create<Village>();
    auto const unit = village.async<&Village::spawn_slowly>(300, 0);
    auto const one = unit.async<&Unit::move>(1);
    auto const two = unit.async<&Unit::move>(10);
    one.cancel();
    EXPECT_THROW(one.get(), Cancelled);
    EXPECT_EQ(two.get(), 10);
    auto const never = village.async<&Village::spawn_slowly>(300, 0);
    auto const behind = village.async<&Village::spawn>(0);
    auto const moved = behind.async<&Unit::move>(1);
    behind.cancel();
    EXPECT_THROW(moved.get(), Cancelled) << "as what it follows";
    never.wait();
}

TEST_F(ManagerPipelining, WhatWasCancelledIsNotCalledElsewhere) {
    Manager home, elsewhere;
    auto const village = home.create<Village>();
    village.call<&Village::adopt>(elsewhere.create<Unit>(0));
    auto const unit = village.async<&Village::adopted_slowly>(400);
    auto const cancelled = unit.async<&Unit::move>(1);
    auto const moved = unit.async<&Unit::move>(10);
    cancelled.cancel();
    EXPECT_THROW(cancelled.get(), Cancelled);
    auto const other = home.create_async<Unit>(100);  // takes the released slot
    auto const other_moved = other.async<&Unit::move>(1);
    EXPECT_EQ(moved.get(), 10);
    EXPECT_EQ(other_moved.get(), 101);
}

TEST_F(ManagerPipelining, ADeathIsTold) {
    Manager manager;
    auto const village = manager.create<Village>();
    auto const dies = village.async<&Village::die>();
    auto const unit = village.async<&Village::spawn>(0);
    auto const moved = unit.async<&Unit::move>(1);
    EXPECT_THROW(moved.get(), ObjectLost);
    EXPECT_THROW(dies.get(), ObjectLost);
    try {
        unit.call<&Unit::move>(1);
        ADD_FAILURE() << "it was executed";
    } catch (ObjectLost const& error) {
        EXPECT_FALSE(error.maybe_executed());
    }
}

TEST_F(ManagerPipelining, AlsoWithinAManager) {
    Manager one, two;
    auto const village = one.create<Village>();
    EXPECT_EQ((village.call<&Village::spawn_and_move>(3, 4)), 7);
    for (Manager* const place : {&one, &two}) {
        auto const unit = place->create<Unit>(1);
        village.call<&Village::adopt>(unit);
        EXPECT_EQ(village.call<&Village::move_adopted>(1), 2);
    }
}

TEST_F(ManagerPipelining, ManyThreadsFollowTheirOwn) {
    Manager manager;
    auto const village = manager.create<Village>();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&village, t] {
            for (int i = 0; i < 200; ++i) {
                auto const unit = village.async<&Village::spawn>(1000 * t);
                unit.oneway<&Unit::step>(0);
                auto const moved = unit.async<&Unit::move>(i);
                unit.oneway<&Unit::step>(1);
                if (i % 3 == 0) continue;  // dropped
                EXPECT_EQ(moved.get(), 1000 * t + i);
                EXPECT_THAT(unit.get().call<&Unit::steps>(), ElementsAre(0, 1));
            }
        });
    for (auto& each : threads) each.join();
}

TEST_F(ManagerPipelining, WhatMethodsMakeIsMadeAgainToo) {
    ManagerOptions options;
    options.max_restarts = 1;
    Manager manager(options);
    auto const village = manager.create<Village>();
    auto unit = village.async<&Village::spawn>(5).get();
    EXPECT_EQ(unit.call<&Unit::move>(1), 6);
    EXPECT_THROW(village.call<&Village::die>(), ObjectRestarted);
    unit.refresh();
    EXPECT_EQ(unit.call<&Unit::at>(), 5);
}

TEST_F(ManagerPipelining, OnlyManagersMakeObjectsHere) {
    EXPECT_THROW(this_manager::create<Unit>(1), UsageError);
}

}  // namespace
}  // namespace sinew::testing_support
