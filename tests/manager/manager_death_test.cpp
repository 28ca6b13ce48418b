// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <sinew/manager.hpp>
#include <sinew/process.hpp>
#include <thread>
#include <vector>

#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"
#include "tests/manager/support/counter.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

struct ManagerDeath : testing::Test {
    LeakCheck leaks;
};

TEST_F(ManagerDeath, CallsUnderWayAreLostAndSaySo) {
    Manager manager;
    auto counter = manager.create<Counter>();
    std::vector<Reply<int>> replies;
    for (int i = 0; i < 100; ++i) replies.push_back(counter.async<&Counter::slowly>(10));
    EXPECT_EQ(replies.front().get(), 1);
    ::kill(manager.pid(), SIGKILL);
    int lost = 0;
    for (auto const& each : replies) {
        try {
            each.get();
        } catch (ObjectLost const& error) {
            EXPECT_TRUE(error.maybe_executed());
            EXPECT_THAT(error.what(), HasSubstr(text("pid ", manager.pid())));
            ++lost;
        }
    }
    EXPECT_GT(lost, 0);
    try {
        counter.call<&Counter::value>();
        ADD_FAILURE() << "it is called after its death";
    } catch (ObjectLost const& error) {
        EXPECT_FALSE(error.maybe_executed());
    }
    EXPECT_THROW(manager.create<Counter>(), ObjectLost);
}

TEST_F(ManagerDeath, AMethodMayKillIt) {
    Manager manager;
    auto counter = manager.create<Counter>();
    EXPECT_THROW(counter.call<&Counter::die>(), ObjectLost);
    Manager another;
    EXPECT_EQ(another.create<Counter>().call<&Counter::add>(1), 1);
}

int hold_until_killed(Object<Counter> const& counter, std::string const& file) {
    counter.oneway<&Counter::note_end>(file);
    auto const running = counter.async<&Counter::slowly>(200);
    for (int i = 0; i < 1000; ++i) static_cast<void>(counter.async<&Counter::slowly>(200));
    running.wait();
    ::raise(SIGKILL);
    return 0;
}

// Its calls do not keep others waiting, and what it held is released.
TEST_F(ManagerDeath, OfACallerLeavesNothingBehind) {
    auto const file = std::filesystem::temp_directory_path() / text("sinew-held-", ::getpid());
    // After the manager, which writes it when its object ends.
    ScopeExit const removed([&] { std::filesystem::remove(file); });
    Manager manager;
    auto counter = manager.create<Counter>();
    Process process(task<hold_until_killed>, counter, file.string());
    process.start();
    process.join();
    EXPECT_EQ(process.exitcode(), -SIGKILL);
    EXPECT_LT(counter.async<&Counter::value>().get(30s), 50);
}

TEST_F(ManagerDeath, AStoppedOneIsWaitedForAsLongAsWanted) {
    Manager manager;
    auto counter = manager.create<Counter>();
    ASSERT_TRUE(stop_process(manager.pid()));
    auto const reply = counter.async<&Counter::add>(1);
    EXPECT_THROW(reply.get(200ms), Timeout);
    ::kill(manager.pid(), SIGCONT);
    EXPECT_EQ(reply.get(30s), 1);
}

TEST_F(ManagerDeath, WhatHangsIsKilledAtShutdown) {
    ManagerOptions options;
    options.grace = 100ms;
    Manager manager(options);
    auto counter = manager.create<Counter>();
    auto const hangs = counter.async<&Counter::slowly>(60'000);
    EXPECT_THROW(hangs.get(50ms), Timeout);
    manager.shutdown();
    EXPECT_THROW(hangs.get(), ObjectLost);
}

}  // namespace
}  // namespace sinew::testing_support
