// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/first_cause.hpp"

#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

namespace sinew::launch {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

FirstCause::Who rank(int number, pid_t pid = 4711) { return {number, "node-b", pid}; }

TEST(FirstCause, NothingFailedIsZeroAndSilent) {
    FirstCause cause;
    cause.rank_ended(rank(0), {});
    EXPECT_FALSE(cause.failed());
    EXPECT_EQ(cause.exit_code(), 0);
    EXPECT_EQ(cause.summary(), "");
}

TEST(FirstCause, NamesRankNodePidAndSignal) {
    FirstCause cause;
    cause.rank_ended(rank(3), {.signal = SIGKILL});
    cause.rank_ended(rank(1), {.code = 1});
    EXPECT_EQ(cause.summary(),
              "rank 3 on node-b (pid 4711): killed by signal 9 (Killed), first of 2 failures");
    EXPECT_EQ(cause.exit_code(), 137);
}

TEST(FirstCause, FailuresAfterALostNodeAreNotPartsOfTheCause) {
    FirstCause cause;
    cause.node_lost("node-b", "its agent was asked to end (SIGTERM)");
    EXPECT_EQ(cause.summary(), "node-b: lost: its agent was asked to end (SIGTERM)");
    cause.rank_ended(rank(1), {.code = 1});
    EXPECT_THAT(cause.summary(), HasSubstr("(SIGTERM) (then 1 failure elsewhere)"));
    cause.rank_ended(rank(2), {.code = 1});
    EXPECT_THAT(cause.summary(), HasSubstr("(SIGTERM) (then 2 failures elsewhere)"));
}

TEST(FirstCause, NamesTheNodeWhoseRootWasToldToEnd) {
    FirstCause cause;
    cause.interrupted(SIGTERM, "train-0");
    EXPECT_EQ(cause.summary(), "train-0: told to end by signal 15 (Terminated)");
    EXPECT_EQ(cause.exit_code(), 143);
}

TEST(FirstCause, WhatWeStoppedIsAVictim) {
    FirstCause cause;
    cause.rank_ended(rank(2), {.code = 7});
    cause.rank_ended(rank(0), {.signal = SIGTERM, .stopped = true});
    cause.rank_ended(rank(1), {.code = 143, .stopped = true});
    EXPECT_EQ(cause.failures(), 1u);
    EXPECT_EQ(cause.exit_code(), 7);
    EXPECT_EQ(cause.summary(), "rank 2 on node-b (pid 4711): exited with code 7");
    EXPECT_THAT(cause.table(),
                AllOf(HasSubstr("killed by signal 15 (Terminated), after it was told to end"),
                      HasSubstr(">    2  node-b     4711  exited with code 7\n")));
}

// Over sockets there is no MPI_Finalize: a rank must end its World.
TEST(FirstCause, IsWhoLeftTheWorldWithCode0) {
    FirstCause cause;
    cause.rank_ended(rank(2), {.in_world = true});
    EXPECT_FALSE(cause.failed()) << "nobody has missed it yet";
    cause.rank_ended(rank(0), {.signal = SIGABRT, .in_world = true});
    cause.rank_ended(rank(1), {.signal = SIGTERM, .stopped = true, .in_world = true});
    EXPECT_EQ(cause.exit_code(), 1);
    EXPECT_THAT(cause.summary(), AllOf(HasSubstr("rank 2 on node-b"), HasSubstr("code 0 in the"),
                                       HasSubstr("first of 2")));
    FirstCause late;  // from another node, after the rank that it caused to fail
    late.rank_ended(rank(0), {.code = 1, .in_world = true});
    late.rank_ended(rank(2), {.in_world = true});
    EXPECT_THAT(late.summary(), HasSubstr("rank 2 on node-b"));
}

TEST(FirstCause, IsNotWhoLeftTheWorldBecauseOfAnother) {
    FirstCause killed;
    killed.rank_ended(rank(0), {.signal = SIGKILL, .in_world = true});
    killed.rank_ended(rank(2), {.in_world = true});
    EXPECT_THAT(killed.summary(), HasSubstr("rank 0 on node-b"));
    EXPECT_EQ(killed.exit_code(), 137);
    FirstCause stopped;
    stopped.rank_ended(rank(0), {.code = 3});
    stopped.rank_ended(rank(2), {.stopped = true, .in_world = true});
    EXPECT_EQ(stopped.exit_code(), 3);
}

TEST(FirstCause, AnAbortKeepsItsStatusWhateverTheRankThenDies) {
    FirstCause cause;
    cause.rank_aborted(rank(5, 0), 42, "no data");
    cause.rank_ended(rank(5, 99), {.signal = SIGKILL, .stopped = true});
    EXPECT_EQ(cause.exit_code(), 42);
    EXPECT_EQ(cause.summary(),
              "rank 5 on node-b (pid 99): called MPI_Abort with status 42: no data");
    FirstCause zero;
    zero.rank_aborted(rank(0), 256, "");
    EXPECT_EQ(zero.exit_code(), 1) << "a failure is not 0";
}

TEST(FirstCause, ProgramsThatCannotStartEndAsInAShell) {
    for (auto const& [error, code] :
         {std::pair{ENOENT, 127}, {EACCES, 126}, {ENOEXEC, 126}, {EAGAIN, 125}}) {
        FirstCause cause;
        cause.rank_not_started(rank(0, 0), error, "exec ./prog");
        EXPECT_EQ(cause.exit_code(), code) << error;
        EXPECT_THAT(cause.summary(), HasSubstr("could not be started: exec ./prog ("));
    }
}

TEST(FirstCause, LauncherNodeAndTimeHaveTheirCodes) {
    FirstCause lost, launcher, timeout, interrupt;
    lost.node_lost("node-c", "no heartbeat for 6 s");
    EXPECT_EQ(lost.exit_code(), 125);
    EXPECT_EQ(lost.summary(), "node-c: lost: no heartbeat for 6 s");
    launcher.launcher_failed("ssh to node-d was refused");
    EXPECT_EQ(launcher.exit_code(), 125);
    EXPECT_EQ(launcher.summary(), "sinew run: ssh to node-d was refused");
    timeout.timed_out("30 s");
    EXPECT_EQ(timeout.exit_code(), 124);
    interrupt.interrupted(SIGINT);
    EXPECT_EQ(interrupt.exit_code(), 130);
}

TEST(FirstCause, LeavingWithoutFinalizeIsAFailure) {
    FirstCause cause;
    cause.rank_ended(rank(1), {.unfinished = true});
    EXPECT_EQ(cause.exit_code(), 1);
    EXPECT_EQ(cause.summary(),
              "rank 1 on node-b (pid 4711): exited with code 0, without MPI_Finalize");
}

TEST(FirstCause, JsonHoldsAllOfIt) {
    FirstCause cause;
    cause.rank_ended(rank(1), {});
    cause.rank_ended(rank(0), {.signal = SIGSEGV, .detail = "bytes \xff"});
    cause.node_lost("node-c", "gone");
    auto const json = nlohmann::json::parse(cause.json());
    EXPECT_EQ(json["exit_code"], 139);
    EXPECT_EQ(json["failures"], 2);
    ASSERT_EQ(json["ends"].size(), 3u);
    EXPECT_EQ(json["ends"][0]["rank"], 0);
    EXPECT_EQ(json["ends"][0]["signal"], 11);
    EXPECT_EQ(json["ends"][0]["first"], true);
    EXPECT_EQ(json["ends"][1]["part"], "success");
    EXPECT_EQ(json["ends"][2]["node"], "node-c");
}

}  // namespace
}  // namespace sinew::launch
