// SPDX-License-Identifier: Apache-2.0
// Objects whose state outlives their process.
#include <gmock/gmock.h>

#include <atomic>
#include <csignal>
#include <sinew/manager.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/manager/support/tally.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct ManagerCheckpoint : testing::Test {
    LeakCheck leaks;
};

ManagerOptions keeping(std::uint32_t restarts, Checkpoints checkpoints = {}) {
    ManagerOptions options;
    options.max_restarts = restarts;
    options.checkpoints = checkpoints;
    return options;
}

template <class T>
void die_and_refresh(Object<T>& tally) {
    EXPECT_THROW(tally.template call<&T::die>(), ObjectRestarted);
    tally.refresh(5min);
}

/// The next call shows a death that has not been noticed yet.
std::int64_t count_after_restart(Object<CarefulTally>& tally) {
    for (;;) {
        try {
            return tally.call<&CarefulTally::count>();
        } catch (ObjectRestarted const&) {
            tally.refresh();
        }
    }
}

TEST_F(ManagerCheckpoint, TheLastOneIsRestored) {
    Manager manager(keeping(3));
    auto tally = manager.create<Tally>(1);
    tally.call<&Tally::add>(1);
    tally.checkpoint();
    tally.call<&Tally::add>(10);
    tally.checkpoint();
    tally.call<&Tally::add>(100);
    die_and_refresh(tally);
    EXPECT_EQ(tally.call<&Tally::count>(), 12);
    tally.call<&Tally::add>(1000);
    die_and_refresh(tally);
    EXPECT_EQ(tally.call<&Tally::count>(), 12) << "it outlives a second death";
    tally.call<&Tally::add>(1);
    tally.checkpoint();
    die_and_refresh(tally);
    EXPECT_EQ(tally.call<&Tally::count>(), 13);
}

TEST_F(ManagerCheckpoint, LargeStatesAreKeptWhole) {
    Manager manager(keeping(2, {.every_calls = 1}));
    auto tally = manager.create<Tally>();
    tally.call<&Tally::fill>(std::uint64_t{12} << 20);
    std::vector<Reply<std::int64_t>> replies;
    for (int i = 0; i < 50; ++i) replies.push_back(tally.async<&Tally::add>(1));
    EXPECT_EQ(replies.back().get(), 50);
    die_and_refresh(tally);
    EXPECT_EQ(tally.call<&Tally::filled>(), std::uint64_t{12} << 20);
    EXPECT_EQ(tally.call<&Tally::count>(), 50);
}

// Every answered call is kept after each death; others may have been executed, as maybe_executed()
// reports.
TEST_F(ManagerCheckpoint, NothingThatWasAnsweredIsLost) {
    constexpr int kills = 20;
    Manager manager(keeping(kills));
    auto tally = manager.create<CarefulTally>();
    std::int64_t answered = 0, maybe = 0;
    for (int kill = 0; kill < kills; ++kill) {
        std::atomic<bool> over{false};
        std::thread killer([&, wait = 1 + 7 * kill] {
            std::this_thread::sleep_for(std::chrono::milliseconds(wait));
            ::kill(manager.pid(), SIGKILL);
            over = true;
        });
        std::vector<Reply<std::int64_t>> replies;
        while (!over) {
            for (int i = 0; i < 8; ++i) replies.push_back(tally.async<&CarefulTally::add>(1));
            replies.back().wait();
        }
        killer.join();
        for (auto const& reply : replies) {
            try {
                reply.get();
                ++answered;
            } catch (ObjectRestarted const& error) {
                if (error.maybe_executed()) ++maybe;
            }
        }
        auto const count = count_after_restart(tally);
        ASSERT_GE(count, answered) << "after kill " << kill;
        ASSERT_LE(count, answered + maybe) << "after kill " << kill;
        answered = count;
        maybe = 0;
    }
    EXPECT_GT(answered, 0);
}

TEST_F(ManagerCheckpoint, NoMoreThanSoManyCallsAreLost) {
    Manager manager(keeping(1, {.every_calls = 10}));
    auto tally = manager.create<Tally>();
    for (int i = 0; i < 95; ++i) tally.call<&Tally::add>(1);
    die_and_refresh(tally);
    auto const count = tally.call<&Tally::count>();
    EXPECT_GE(count, 86);
    EXPECT_LE(count, 95);
}

TEST_F(ManagerCheckpoint, AreMadeFromTimeToTime) {
    Manager manager(keeping(1, {.every_calls = 0, .interval = 20ms}));
    auto tally = manager.create<Tally>();
    tally.call<&Tally::add>(1);
    std::this_thread::sleep_for(2s);
    die_and_refresh(tally);
    EXPECT_EQ(tally.call<&Tally::count>(), 1);
}

TEST_F(ManagerCheckpoint, WhatCannotBeKeptIsNotAnsweredAsIfItWere) {
    Manager manager(keeping(1, {.every_calls = 1}));
    auto tally = manager.create<Tally>();
    EXPECT_THROW(tally.call<&Tally::spoil>(), std::runtime_error);
    try {
        tally.call<&Tally::add>(1);
        ADD_FAILURE() << "it was answered";
    } catch (std::runtime_error const& error) {
        EXPECT_STREQ(error.what(), "a spoilt tally");
        EXPECT_THAT(dynamic_cast<RemoteException const&>(error).record().function,
                    HasSubstr("Tally::save"));
    }
    EXPECT_EQ(manager.create<Tally>(3).call<&Tally::count>(), 3) << "the manager goes on";
}

struct Unkept {
    int count() const { return 0; }
};

TEST_F(ManagerCheckpoint, AreRefusedWhereNothingKeepsThem) {
    Manager forgetful;
    auto const one = forgetful.create<Tally>();
    EXPECT_THROW(one.checkpoint(), UsageError);
    EXPECT_EQ(one.call<&Tally::add>(1), 1) << "calls go on";
    Manager manager(keeping(1));
    auto const two = manager.create<Unkept>();
    EXPECT_THROW(two.checkpoint(), UsageError);
    EXPECT_EQ(two.call<&Unkept::count>(), 0);
}

}  // namespace
}  // namespace sinew::testing_support
