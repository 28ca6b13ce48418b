// SPDX-License-Identifier: Apache-2.0
// Programs that acquire nodes; what is left of them when they end in any way.
#include <gmock/gmock.h>

#include <csignal>
#include <cstdlib>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class AcquireTest : public testing::Test {
protected:
    static Launched::Setting program() {
        return {.env = {{"SINEW_COMMAND", std::getenv("SINEW_TEST_COMMAND")}},
                .command = {std::getenv("SINEW_TEST_ACQUIRE_PROGRAM")}};
    }
    static Ended expect_right(Words const& words) {
        auto ended = run(words, program(), Seconds(60));
        EXPECT_EQ(ended.code, 0) << ended.out << ended.err;
        EXPECT_THAT(ended.out, HasSubstr("right")) << ended.err;
        return ended;
    }
    LeakCheck leaks;
};

TEST_F(AcquireTest, PoolsHaveWorkersOnAllNodes) { expect_right({"pools"}); }
TEST_F(AcquireTest, ProcessesManagersAndRingsRunThere) { expect_right({"others"}); }
TEST_F(AcquireTest, APoolGrowsAndShrinksWithItsNodes) { expect_right({"resized"}); }
TEST_F(AcquireTest, WhatCannotBeIsRefused) { expect_right({"refused"}); }
TEST_F(AcquireTest, NeedsInit) { expect_right({"no_init"}); }

TEST_F(AcquireTest, NodesThatNeverComeAreReportedWithTheBackendsText) {
    auto const ended = expect_right({"late"});
    EXPECT_THAT(ended.err, HasSubstr("no node came within 1 s (its agent is starting)"));
}

TEST_F(AcquireTest, TheEndOfTheCommandIsReported) {
    auto const ended = expect_right({"orphaned"});
    EXPECT_THAT(ended.err, HasSubstr("no node is replaced any more"));
}

TEST_F(AcquireTest, LostNodesAreReplaced) {
    leaks.folders_may_stay();  // of killed agents: the next sinew removes them
    expect_right({"replaced"});
}

TEST_F(AcquireTest, ResultsAreExactWhileNodesAreKilled) {
    leaks.folders_may_stay();
    auto const ended = expect_right({"chaos"});
    EXPECT_THAT(ended.out, HasSubstr("agents killed"));
    RecordProperty("chaos", ended.out);
}

// A host that does not say that its processes have ended: they have when the lease is over.
TEST_F(AcquireTest, TasksOfAHostThatVanishesAreRedoneAfterItsLease) {
    leaks.folders_may_stay();
    expect_right({"hosts", "env", "a", "b"});
}

TEST_F(AcquireTest, AnotherBuildIsRefused) {
    auto const* const other = std::getenv("SINEW_TEST_NODES_PROGRAM");
    auto const ended = run(
        {"hosts",
         text("sh -c 'exec env SINEW_NODE_CONFIG=- SINEW_NODE_ID=odd ", other, "' {command}"), "a"},
        program(), Seconds(60));
    EXPECT_EQ(ended.code, 8);
    EXPECT_THAT(ended.err,
                AllOf(HasSubstr("node odd on "), HasSubstr("is refused"),
                      HasSubstr("another build of it (build "), HasSubstr("5 times in a row")));
}

TEST_F(AcquireTest, NothingIsLeftWhenTheProgramIsKilled) {
    leaks.folders_may_stay();
    Launched launched({"lasting"}, program());
    ASSERT_TRUE(launched.says("waiting"));
    // sinew acquire, 2 agents, 4 workers
    EXPECT_EQ(descendants_of(launched.pid()).size(), 7U);
    auto const marked = [&] { return processes_with("SINEW_TEST_MARK", launched.mark()).size(); };
    ::kill(launched.pid(), SIGKILL);
    EXPECT_TRUE(eventually([&] { return marked() == 0; }, Seconds(8)))
        << describe(processes_with("SINEW_TEST_MARK", launched.mark()));
    EXPECT_EQ(launched.wait(Seconds(20)).code, 128 + SIGKILL);
}

TEST_F(AcquireTest, ASecretIsInNoArgumentAndNoEnvironment) {
    Launched launched({"lasting"}, program());
    ASSERT_TRUE(launched.says("waiting"));
    for (auto const& each : descendants_of(launched.pid())) {
        EXPECT_THAT(each.command, Not(HasSubstr("session")));
        for (auto const& [name, value] : environment_of(each.pid)) {
            EXPECT_THAT(value, Not(HasSubstr("\"session\"")));
            EXPECT_THAT(value, Not(testing::MatchesRegex("[0-9a-f]{64}")));
        }
    }
    launched.signal(SIGKILL);
    leaks.folders_may_stay();
    launched.wait(Seconds(20));
}

}  // namespace
}  // namespace sinew::testing_support
