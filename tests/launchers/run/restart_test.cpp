// SPDX-License-Identifier: Apache-2.0
//
// Restarts of the whole job, and processes that ranks leave behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;
using testing::Not;

class Restart : public RunTest {};

TEST_F(Restart, BeginsAnewAfterAFailure) {
    auto const ended = run(
        {"--max-restarts", "2", "--fake-nodes", "2", "-n", "4", rank_program(), "restarts", "1"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("0 restart 0\n"));  // the others may not have started yet
    for (int rank = 0; rank < 4; ++rank)
        EXPECT_THAT(ended.out, HasSubstr(text(rank, " restart 1\n")));
    EXPECT_THAT(ended.err, HasSubstr("restart 1 (1 of 2 of the budget used)"));
    EXPECT_THAT(ended.err, HasSubstr("exited with code 9"));
}

TEST_F(Restart, EndsWithTheBudget) {
    auto const ended = run({"--max-restarts", "2", "-n", "2", rank_program(), "restarts", "99"});
    EXPECT_EQ(ended.code, 9);
    EXPECT_EQ(count_of(ended.out, "0 restart "), 3U);
    EXPECT_THAT(ended.out, Not(HasSubstr("restart 3")));
}

// The first epoch has consumed the input; the second must not wait forever for more.
TEST_F(Restart, SeesTheEndOfStandardInput) {
    auto const ended =
        run({"--max-restarts", "1", "--timeout", "20s", "-n", "1", "sh", "-c",
             "if [ $SINEW_RESTART = 0 ]; then cat >/dev/null; exit 9; fi; cat; echo at the end"},
            {.env = {}, .input = Launched::Input::given, .given = "a line\n"});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_THAT(ended.out, HasSubstr("at the end"));
}

TEST_F(Restart, IsNotWhatAUserWhoEndsTheJobWants) {
    Launched job({"--max-restarts", "5", "-n", "2", rank_program(), "exit", "0", "99", "0"});
    ASSERT_TRUE(job.says("ready", 2));
    job.signal(SIGTERM);
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 128 + SIGTERM);
    EXPECT_EQ(count_of(ended.out, "ready"), 2U);
}

class RestartOfAnAgent : public RunTest, public testing::WithParamInterface<bool> {};

// A planned end (SIGTERM) does not count towards the restarts; a death does.
TEST_P(RestartOfAnAgent, BringsANewOne) {
    bool const planned = GetParam();
    Launched job(
        {"--max-restarts", "3", "--fake-nodes", "2", "-n", "4", rank_program(), "until_restart"});
    ASSERT_TRUE(job.says("ready", 4));
    auto const agents = job.agents(2);
    ASSERT_EQ(agents.size(), 2U);
    ::kill(planned ? agents[1].init_process : agents[1].worker, planned ? SIGTERM : SIGKILL);
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(count_of(ended.out, "again 1\n"), 4U);
    EXPECT_THAT(ended.err, HasSubstr(planned ? "(planned, 0 of 3 of the budget used)"
                                             : "(1 of 3 of the budget used)"));
}

INSTANTIATE_TEST_SUITE_P(Ways, RestartOfAnAgent, testing::Bool(),
                         [](auto const& way) { return way.param ? "planned" : "killed"; });

TEST_F(Restart, WithoutABudgetAPlannedLeaveEndsTheJob) {
    Launched job({"--fake-nodes", "2", "-n", "2", rank_program(), "until_restart"});
    ASSERT_TRUE(job.says("ready", 2));
    auto const agents = job.agents(2);
    ASSERT_EQ(agents.size(), 2U);
    ::kill(agents[0].init_process, SIGTERM);
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 125);
    EXPECT_THAT(ended.err, HasSubstr("asked to end (SIGTERM)"));
}

// Processes that a rank has started and left; the leak check verifies that they have ended.
class Leftovers : public RunTest, public testing::WithParamInterface<std::string> {};

TEST_P(Leftovers, GoWithTheJob) {
    auto const ended = run({"-n", "2", rank_program(), "leave", GetParam()});
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_LT(ended.seconds.count(), 20) << "their open pipes are not waited for";
}

TEST_P(Leftovers, GoWithAJobThatFails) {
    auto const script = text(rank_program(), " leave ", GetParam(), "; echo left; exit 3");
    auto const ended = run({"--fake-nodes", "2", "-n", "2", "sh", "-c", script});
    EXPECT_EQ(ended.code, 3);
}

TEST_P(Leftovers, GoWhenAllIsKilled) {
    auto const script = text(rank_program(), " leave ", GetParam(), "; echo left; sleep 100");
    Launched job({"-n", "2", "sh", "-c", script});
    ASSERT_TRUE(job.says("left", 2));
    job.signal(SIGKILL);
    job.wait();
}

// For example, a stream that was passed through a socket to a server.
TEST_F(RunTest, EndsThoughAStrangerHoldsARanksStream) {
    Launched job({"-n", "1", rank_program(), "until_restart"});
    ASSERT_TRUE(job.says("ready"));
    pid_t const rank = job.rank(0);
    int const held = ::open(text("/proc/", rank, "/fd/1").c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(held, 0);
    ::kill(rank, SIGKILL);
    auto const ended = job.wait();
    ::close(held);
    EXPECT_EQ(ended.code, 137);
    EXPECT_LT(ended.seconds.count(), 9) << "the stranger's end of the pipe was waited for";
}

INSTANTIATE_TEST_SUITE_P(Ways, Leftovers, testing::Values("group", "session", "daemon"),
                         [](auto const& way) { return way.param; });

}  // namespace
}  // namespace sinew::testing_support
