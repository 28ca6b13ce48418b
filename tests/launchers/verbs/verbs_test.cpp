// SPDX-License-Identifier: Apache-2.0
//
// sinew ps, logs, attach and stop on real jobs.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "src/base/text.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/launchers/verbs/verb.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class Verbs : public RunTest {};

TEST_F(Verbs, ListShowAndEndTwoJobs) {
    EXPECT_EQ(lines_of(verb({"ps"}).out).size(), 1u);
    Launched one({"-n", "2", "--name", "alpha", "sh", "-c",
                  "echo one $SINEW_RANK; echo two $SINEW_RANK >&2; exec sleep 60"});
    Launched two({"-n", "1", "--name", "alpha-two", rank_program(), "ignore", "15"});
    ASSERT_TRUE(one.says("one 0") && one.says("one 1") && two.says("ready"));
    ASSERT_TRUE(has_state("alpha", "running") && has_state("alpha-two", "running"));
    EXPECT_THAT(verb({"ps"}).out,
                AllOf(ContainsRegex("NAME +STATE +RANKS +NODES +BACKEND +AGE +COMMAND\n"),
                      ContainsRegex("alpha +running +2/2 +1 +local +[0-9]+s +sh -c echo one"),
                      ContainsRegex("alpha-two +running +1/1 +1 +local")));
    EXPECT_EQ(lines_of(verb({"ps", "--backend", "ssh"}).out).size(), 1u);
    auto const job = job_named("alpha");
    EXPECT_EQ(job.at("per_rank").at(1).at("pid"), one.rank(1));
    EXPECT_EQ(job.at("pid"), one.pid());

    auto const logs = verb({"logs", "alpha", "-r", "1"});
    EXPECT_EQ(logs.out, "one 1\n");
    EXPECT_EQ(logs.err, "two 1\n");
    EXPECT_THAT(verb({"logs", "alpha", "--tag", "-r", "0-1"}).out,
                AllOf(HasSubstr("[0]<stdout>: one 0\n"), HasSubstr("[1]<stdout>: one 1\n")));
    EXPECT_EQ(verb({"logs", job.at("id").get<std::string>(), "-r", "0", "--tail", "0"}).out, "");
    EXPECT_THAT(verb({"logs", "alpha", "-r", "0", "--json"}).out, HasSubstr(R"("text":"one 0"})"));

    auto const again = run({"-n", "1", "--name", "alpha", "true"});
    EXPECT_EQ(again.code, 2);
    EXPECT_THAT(again.err, HasSubstr("--name alpha: a job of that name runs"));
    auto const ambiguous = verb({"stop", "alp"});
    EXPECT_EQ(ambiguous.code, 2);
    EXPECT_THAT(ambiguous.err, HasSubstr("alpha, alpha-two"));
    auto const unknown = verb({"stop", "alhpa"});
    EXPECT_EQ(unknown.code, 1);
    EXPECT_THAT(unknown.err, HasSubstr("Did you mean alpha?"));

    auto const stopped = verb({"stop", "--grace", "30s", "alpha"});
    EXPECT_EQ(stopped.code, 0) << stopped.err;
    auto const end = one.wait();
    EXPECT_EQ(end.code, 143);
    EXPECT_THAT(end.err, ContainsRegex("stopped by sinew stop \\(user [0-9]+, pid [0-9]+\\)"));
    // A unique beginning; it ignores SIGTERM.
    EXPECT_EQ(verb({"stop", "--now", "alpha-"}).code, 0);
    EXPECT_EQ(two.wait().code, 143);
    EXPECT_EQ(lines_of(verb({"ps"}).out).size(), 1u);
}

TEST_F(Verbs, AttachShowsWhatFollowsAndEndsAsTheJob) {
    Launched job({"-n", "2", "--name", "attached", "--stdin", "all", "sh", "-c",
                  "echo early; read word; echo late $word; exit 7"},
                 {.input = Launched::Input::open});
    ASSERT_TRUE(job.says("early", 2));
    Launched attached({"attach", "attached"}, as_command());
    Launched followed({"logs", "-f", "--tail", "1", "attached"}, as_command());
    Launched detached({"attach", "attached"}, as_command());
    ASSERT_TRUE(attached.says("early", 2) && followed.says("early") && detached.says("early", 2));
    detached.signal(SIGINT);
    auto const left = detached.wait();
    EXPECT_EQ(left.code, 130);
    EXPECT_THAT(left.err, HasSubstr("detached from attached, which runs on"));
    job.write_input("word\n");
    auto const end = job.wait();
    EXPECT_EQ(end.code, 7);
    auto const seen = attached.wait();
    EXPECT_EQ(seen.code, 7);
    EXPECT_THAT(seen.out, HasSubstr("late"));
    EXPECT_THAT(seen.err, HasSubstr("exited with code 7"));
    EXPECT_EQ(followed.wait().code, 0);
}

TEST_F(Verbs, AttachNoticesThatTheRootWasKilled) {
    Launched job({"-n", "1", "--name", "killed", rank_program(), "ignore", "15"});
    ASSERT_TRUE(job.says("ready"));
    Launched attached({"attach", "killed"}, as_command());
    ASSERT_TRUE(attached.says("ready"));
    job.signal(SIGKILL);
    job.wait();
    auto const end = attached.wait();
    EXPECT_EQ(end.code, 125);
    EXPECT_THAT(end.err, HasSubstr("Was its sinew run killed?"));
    EXPECT_TRUE(eventually([] { return lines_of(verb({"ps"}).out).size() == 1; }));
}

// No agent knows the folder of a root that it reaches by TCP.
TEST_F(Verbs, AKilledRootOfAgentsElsewhereLeavesNoFolder) {
    Launched job({"-n", "1", "--name", "far", "--launch-agent", "sh -c 'exec \"$@\"' sh", "-H",
                  "elsewhere", rank_program(), "ignore", "15"});
    ASSERT_TRUE(job.says("ready"));
    EXPECT_THAT(verb({"ps", "--backend", "ssh"}).out, ContainsRegex("far +running"));
    EXPECT_THAT(verb({"ps", "--backend", "local"}).out, Not(HasSubstr("far")));
    job.signal(SIGKILL);
    job.wait();
    EXPECT_TRUE(eventually([] { return unheld_folders().empty(); }));
}

TEST_F(Verbs, StopEndsAJobThatASignalHasStopped) {
    Launched job({"-n", "1", "--name", "asleep", rank_program(), "signals"});
    ASSERT_TRUE(job.says("ready"));
    auto const rank = job.rank(0);
    ::kill(rank, SIGSTOP);
    job.signal(SIGSTOP);
    EXPECT_TRUE(eventually([] { return job_named("asleep").at("state") == "stopped"; }));
    EXPECT_EQ(verb({"stop", "--all"}).code, 0);
    EXPECT_EQ(job.wait().code, 143);
}

TEST_F(Verbs, ListAJobThatStartsAndOneThatWasRestarted) {
    // An agent that takes its time.
    Launched slow({"-n", "1", "--name", "slow", "--launch-agent", "sh -c 'sleep 2; exec \"$@\"' sh",
                   "-H", "here", "sleep", "60"});
    ASSERT_TRUE(eventually([] { return !job_named("slow").is_null(); }));
    EXPECT_EQ(job_named("slow").at("state"), "starting");
    EXPECT_EQ(verb({"stop", "slow"}).code, 0);
    EXPECT_EQ(slow.wait().code, 143);

    Launched job({"-n", "1", "--name", "again", "--max-restarts", "3", "sh", "-c",
                  "test $SINEW_RESTART = 1 || exit 5; echo twice; exec sleep 60"});
    ASSERT_TRUE(job.says("twice"));
    ASSERT_TRUE(has_state("again", "running"));
    EXPECT_EQ(job_named("again").at("restarts"), 1);
    EXPECT_EQ(verb({"stop", "again"}).code, 0);
    EXPECT_EQ(job.wait().code, 143);  // and no further restart
}

TEST_F(Verbs, NamesAreChecked) {
    for (auto const* bad : {"A", "a_b", "-a", "a."}) {
        auto const end = run({std::string("--name=") + bad, "true"});
        EXPECT_EQ(end.code, 2) << bad;
        EXPECT_THAT(end.err, HasSubstr("lower-case letters"));
    }
    auto const end = run({"-n", "1", "--log-buffer", "2T", "true"});
    EXPECT_EQ(end.code, 2);
    EXPECT_THAT(end.err, HasSubstr("--log-buffer 2T"));
    EXPECT_EQ(verb({"logs", "x", "-r", "4-2"}).code, 2);
    EXPECT_EQ(verb({"logs"}).code, 2);
    EXPECT_EQ(verb({"stop"}).code, 2);
    for (auto const* name : {"ps", "logs", "attach", "stop"}) {
        auto const help = verb({name, "--help"});
        EXPECT_EQ(help.code, 0);
        EXPECT_THAT(help.out, HasSubstr(text("  sinew ", name)));
    }
}

}  // namespace
}  // namespace sinew::testing_support
