// SPDX-License-Identifier: Apache-2.0
//
// Signals to `sinew run`: forwarded, or the end of the job; Ctrl-C, Ctrl-Z.
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::HasSubstr;

class Signals : public RunTest {};

Words two_nodes(Words const& verb) {
    Words words{"--fake-nodes", "2", "-n", "3", rank_program()};
    words.insert(words.end(), verb.begin(), verb.end());
    return words;
}

TEST_F(Signals, ArePassedOn) {
    Launched job(two_nodes({"signals"}));
    ASSERT_TRUE(job.says("ready", 3));
    for (int const number : {SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT}) {
        job.signal(number);
        EXPECT_TRUE(job.says(text("got ", number, "\n"), 3));
    }
    job.signal(SIGTERM);
    auto const ended = job.wait();
    EXPECT_EQ(count_of(ended.out, text("got ", SIGTERM, "\n")), 3U);
    EXPECT_EQ(ended.code, 128 + SIGTERM);
    EXPECT_THAT(ended.err, HasSubstr("told to end by signal 15"));
}

class EndingSignals : public RunTest, public testing::WithParamInterface<int> {};

TEST_P(EndingSignals, ReachTheRanksAsTheyAre) {
    Launched job(two_nodes({"signals"}));
    ASSERT_TRUE(job.says("ready", 3));
    job.signal(GetParam());
    auto const ended = job.wait();
    EXPECT_EQ(count_of(ended.out, text("got ", GetParam(), "\n")), 3U);
    EXPECT_EQ(ended.code, 128 + GetParam());
}

INSTANTIATE_TEST_SUITE_P(Each, EndingSignals, testing::Values(SIGTERM, SIGINT, SIGHUP));

TEST_F(Signals, SecondInterruptKills) {
    Launched job({"--grace", "100s", "-n", "2", rank_program(), "ignore", "2", "15"});
    ASSERT_TRUE(job.says("ready", 2));
    job.signal(SIGINT);
    EXPECT_FALSE(job.ends_within(Seconds(1)));
    job.signal(SIGINT);
    auto const ended = job.wait(Seconds(15));
    EXPECT_EQ(ended.code, 128 + SIGINT);
}

TEST_F(Signals, ThirdInterruptNeedsNobody) {
    Launched job({"--fake-nodes", "2", "-n", "2", rank_program(), "ignore", "2", "15"});
    ASSERT_TRUE(job.says("ready", 2));
    auto const agents = job.agents(2);
    for (auto const& agent : agents) ::kill(agent.worker, SIGSTOP);
    for (int time = 0; time < 3; ++time) {
        job.signal(SIGINT);
        ::usleep(200'000);  // two pending ones would be merged
    }
    EXPECT_TRUE(job.ends_within(Seconds(5)));
    for (auto const& agent : agents) ::kill(agent.worker, SIGCONT);
    EXPECT_EQ(job.wait().code, 128 + SIGINT);
}

TEST_F(Signals, GraceIsGiven) {
    // Ranks that ignore SIGTERM get --grace, and not longer.
    Launched job({"--grace", "1500ms", "-n", "2", rank_program(), "ignore", "15"});
    ASSERT_TRUE(job.says("ready", 2));
    job.signal(SIGTERM);
    EXPECT_FALSE(job.ends_within(Seconds(1))) << "they are not killed before";
    EXPECT_EQ(job.wait(Seconds(15)).code, 128 + SIGTERM);
    // A rank that uses the time to clean up gets it.
    Launched tidy(
        {"--grace", "20s", "-n", "1", "sh", "-c",
         "trap 'sleep 1; echo tidied; exit 0' TERM; echo ready; while :; do sleep 0.1; done"});
    ASSERT_TRUE(tidy.says("ready"));
    tidy.signal(SIGTERM);
    EXPECT_THAT(tidy.wait().out, HasSubstr("tidied"));
}

char state_of(pid_t pid) { return process_info(pid).state; }

TEST_F(Signals, StopAndContinueReachTheRanks) {
    Launched job({"--fake-nodes", "2", "-n", "2", "sh", "-c", "echo ready; sleep 2; echo done"});
    ASSERT_TRUE(job.says("ready", 2));
    pid_t const first = job.rank(0), second = job.rank(1);
    job.signal(SIGTSTP);
    EXPECT_TRUE(eventually([&] { return state_of(job.pid()) == 'T'; })) << "sinew run stops";
    EXPECT_TRUE(eventually([&] { return state_of(first) == 'T' && state_of(second) == 'T'; }));
    ::usleep(3'000'000);  // longer than links wait for silent peers
    job.signal(SIGCONT);
    EXPECT_TRUE(eventually([&] { return state_of(first) != 'T' && state_of(second) != 'T'; }));
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(count_of(ended.out, "done"), 2U);
}

TEST_F(Signals, LongStopOfSinewRunIsNotDeath) {
    Launched job({"--fake-nodes", "2", "-n", "2", "sh", "-c", "echo ready; sleep 1; echo done"});
    ASSERT_TRUE(job.says("ready", 2));
    job.signal(SIGSTOP);  // cannot be forwarded: the ranks continue
    ::usleep(12'000'000);
    job.signal(SIGCONT);
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(count_of(ended.out, "done"), 2U);
}

// With output in transit over TCP, so that the window of the stopped root is full all the time.
TEST_F(Signals, LongStopOfSinewRunWithOutputUnderWayIsNotDeath) {
    Launched job({"-H", "a:1,b:1", "--launch-agent", "{command}", "--root-address", "127.0.0.1",
                  "-n", "2", "sh", "-c",
                  "echo ready; sleep 1; yes 01234567890123456789 | head -c 20000000; echo done"});
    ASSERT_TRUE(job.says("ready", 2));
    job.signal(SIGSTOP);
    ::usleep(15'000'000);  // a host that does not answer for 10 s is lost
    job.signal(SIGCONT);
    auto const ended = job.wait(Seconds(60));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(count_of(ended.out, "done"), 2U);
}

TEST_F(Signals, StoppedRanksEndToo) {
    Launched job({"-n", "2", rank_program(), "ignore", "1"});
    ASSERT_TRUE(job.says("ready", 2));
    ::kill(job.rank(1), SIGSTOP);
    job.signal(SIGTERM);
    EXPECT_EQ(job.wait(Seconds(15)).code, 128 + SIGTERM);
}

TEST_F(Signals, WhileAgentsStartEndTheJob) {
    // An agent that never connects.
    Launched job({"--launch-agent", "sh -c 'sleep 100'", "-H", "localhost", "-n", "1", "true"});
    ASSERT_TRUE(eventually([&] { return !descendants_of(job.pid()).empty(); }));
    job.signal(SIGINT);
    EXPECT_EQ(job.wait(Seconds(20)).code, 128 + SIGINT);
}

/// A folder of a `sinew run` of this test, also under the name that it has while it is removed.
std::filesystem::path folder_named(std::string const& part) {
    for (auto const& each : std::filesystem::directory_iterator(std::getenv("SINEW_TMPDIR")))
        if (each.path().filename().string().find(part) != std::string::npos) return each.path();
    return {};
}

// The second signal of a user, or of `sinew serve`, may come when the job has ended.
TEST_F(Signals, DoNotEndItBeforeItsFoldersAreRemoved) {
    for (std::string const part : {"-run", "-job-"}) {
        Launched job({"-n", "1", "sh", "-c", "echo ready; exec sleep 100"});
        ASSERT_TRUE(job.says("ready"));
        auto const folder = folder_named(part);
        ASSERT_FALSE(folder.empty());
        for (int i = 0; i < 5000; ++i)
            std::ofstream(folder / text(i));  // its removal takes a while
        job.signal(SIGTERM);
        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
        while (std::filesystem::exists(folder) && std::chrono::steady_clock::now() < end) {}
        job.signal(SIGINT);
        EXPECT_EQ(job.wait().code, 128 + SIGTERM);
        EXPECT_EQ(folder_named(part), "");
    }
}

}  // namespace
}  // namespace sinew::testing_support
