// SPDX-License-Identifier: Apache-2.0
//
// The exit codes of `sinew run` and the messages that explain them.
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class ExitCode : public RunTest {};

std::string host() {
    std::array<char, 256> name{};
    ::gethostname(name.data(), name.size() - 1);
    return name.data();
}

TEST_F(ExitCode, IsZeroWhenAllEndWell) {
    auto const ended = run({"-n", "3", "true"});
    EXPECT_EQ(ended.code, 0);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(ended.err, "") << "nothing to say";
}

TEST_F(ExitCode, IsThatOfTheRankThatFailedFirst) {
    // Rank 3 ends by itself; the others get SIGTERM from `sinew run`.
    auto const ended = run({"-n", "5", rank_program(), "exit", "7", "3", "200"});
    EXPECT_EQ(ended.code, 7);
    EXPECT_THAT(ended.err, ContainsRegex("sinew: rank 3 on [^ ]+ \\(pid [0-9]+\\): "
                                         "exited with code 7\n"));
}

TEST_F(ExitCode, IsThatOfTheFirstOfTwo) {
    auto const script =
        "[ $SINEW_RANK = 0 ] && { trap 'exit 9' TERM; while :; do sleep 0.1; done; }; "
        "[ $SINEW_RANK = 2 ] && { sleep 0.4; exit 5; }; sleep 30";
    EXPECT_EQ(run({"-n", "3", "sh", "-c", script}).code, 5);
}

TEST_F(ExitCode, TellsSignals) {
    auto const killed = run({"-n", "4", rank_program(), "die", "9", "3"});
    EXPECT_EQ(killed.code, 137);
    EXPECT_THAT(killed.err, ContainsRegex(text("rank 3 on ", host(),
                                               " \\(pid [0-9]+\\): killed by "
                                               "signal 9 \\(Killed\\)")));
    EXPECT_EQ(run({"-n", "2", rank_program(), "die", "11", "0"}).code, 139);
    EXPECT_EQ(run({"-n", "2", rank_program(), "die", "6", "1"}).code, 134);
}

TEST_F(ExitCode, TellsProgramsThatCannotBeStarted) {
    auto const missing = run({"-n", "2", "/no/such/program"});
    EXPECT_EQ(missing.code, 127);
    EXPECT_THAT(missing.err, HasSubstr("/no/such/program"));
    EXPECT_EQ(run({"-n", "2", "no-such-program-in-path"}).code, 127);
    EXPECT_EQ(run({"-n", "2", "/etc/passwd"}).code, 126);
    EXPECT_EQ(run({"-n", "2", "/tmp"}).code, 126);
    EXPECT_EQ(run({"--fake-nodes", "2", "-n", "2", "/no/such/program"}).code, 127);
    // Only one of two programs exists; its ranks end, too.
    EXPECT_EQ(run({"-n", "1", rank_program(), "ignore", "15", ":", "-n", "1", "/no/such"}).code,
              127);
}

TEST_F(ExitCode, OfMistakesIsTwo) {
    EXPECT_EQ(run({"--no-such-flag", "true"}).code, 2);
    EXPECT_EQ(run({"-n", "0x", "true"}).code, 2);
    EXPECT_EQ(run({}).code, 2);
    auto const many = run({"--nooversubscribe", "--fake-nodes", "1,1", "-n", "5", "true"});
    EXPECT_EQ(many.code, 2);
    EXPECT_THAT(many.err, HasSubstr("--oversubscribe"));
    EXPECT_NE(run({"-n", "1", "--wdir", "/no/such/folder", "true"}).code, 0);
}

TEST_F(ExitCode, OfATimeoutIs124) {
    auto const ended = run({"--timeout", "500ms", "-n", "2", rank_program(), "ignore", "1"});
    EXPECT_EQ(ended.code, 124);
    EXPECT_THAT(ended.err, HasSubstr("not finished within 0.5 s"));
}

TEST_F(ExitCode, OfOneThatIsKeptGoingIsStillThatOfTheFirst) {
    auto const script = "[ $SINEW_RANK = 1 ] && exit 6; sleep 1; echo survived";
    auto const ended = run({"--no-kill", "-n", "3", "sh", "-c", script});
    EXPECT_EQ(ended.code, 6);
    EXPECT_EQ(count_of(ended.out, "survived"), 2U);
}

TEST_F(ExitCode, StandsInATableOfJson) {
    auto const ended = run({"--output", "json", "-n", "3", rank_program(), "die", "9", "1"});
    EXPECT_EQ(ended.code, 137);
    auto const lines = lines_of(ended.out);
    ASSERT_FALSE(lines.empty());
    auto const table = nlohmann::json::parse(lines.back());
    EXPECT_EQ(table["exit_code"], 137);
    EXPECT_EQ(table["failures"], 1);
    ASSERT_EQ(table["ends"].size(), 3U);
    for (int rank = 0; rank < 3; ++rank) {
        auto const& end = table["ends"][static_cast<std::size_t>(rank)];
        EXPECT_EQ(end["rank"], rank);
        EXPECT_EQ(end["node"], host());
        EXPECT_EQ(end["part"], rank == 1 ? "failure" : "victim");
        EXPECT_EQ(end["signal"], rank == 1 ? 9 : 15);
        EXPECT_GT(end["pid"], 0);
        EXPECT_EQ(end["first"], rank == 1);
    }
}

TEST_F(ExitCode, OfKilledOneThatTheTestKills) {
    Launched job({"-n", "4", rank_program(), "ignore", "1"});
    ASSERT_TRUE(job.says("ready", 4));
    pid_t const pid = job.rank(2);
    ASSERT_GT(pid, 0);
    ::kill(pid, SIGKILL);
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 137);
    EXPECT_THAT(ended.err, HasSubstr(text("rank 2 on ", host(), " (pid ", pid,
                                          "): killed by signal 9 (Killed)")));
}

// A launch command may leave a background process that writes forever.
TEST_F(ExitCode, ComesThoughALaunchCommandLeavesAFloodBehind) {
    auto const ended =
        run({"--launch-agent", "sh -c 'for i in 1 2 3 4; do setsid yes a flood >&2 & done; exit 9'",
             "-H", "a", "--root-address", "127.0.0.1", "-n", "1", "true"});
    EXPECT_EQ(ended.code, 125);
    EXPECT_THAT(ended.err, HasSubstr("9"));
}

// Inspecting a program may take the agent longer than `sinew run` waits for a sign of life, because
// of a slow file system or loader.
TEST_F(ExitCode, IsTheRanksThoughTheirProgramsAreSlowToLookAt) {
    auto const loader = text("/tmp/sinew-slow-", ::getpid()), program = loader + "-p";
    std::string const usual = "/lib64/ld-linux-x86-64.so.2";
    std::ifstream original("/bin/true", std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(original), {}};
    auto const at = bytes.find(usual + '\0');
    if (at == std::string::npos) GTEST_SKIP() << "/bin/true has another loader";
    ASSERT_LE(loader.size(), usual.size());
    bytes.replace(at, usual.size(), loader + std::string(usual.size() - loader.size(), '\0'));
    std::ofstream(program, std::ios::binary) << bytes;
    std::ofstream(loader) << "#!/bin/sh\nexec sleep 30\n";
    for (auto const& each : {loader, program}) ASSERT_EQ(::chmod(each.c_str(), 0755), 0);
    // Arguments that may be programs are inspected too: 5 s each, until the loader is given up.
    auto const ended =
        run({"-n", "1", "-x", "LD_PRELOAD=libc.so.6", "sh", "-c", "echo came", program, program});
    for (auto const& each : {loader, program}) ::unlink(each.c_str());
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_EQ(ended.out, "came\n");
    EXPECT_GE(ended.seconds, Seconds(8)) << "the loader was not asked: nothing was tested";
}

class MpiExitCode : public RunTest, public testing::WithParamInterface<Mpi> {
protected:
    std::string const program = GetParam().program;
};

TEST_P(MpiExitCode, IsTheStatusOfAbort) {
    for (Words const& nodes : {Words{}, Words{"--fake-nodes", "2"}}) {
        Words words = nodes;
        words.insert(words.end(), {"-n", "3", program, "abort", "42"});
        auto const ended = run(words);
        EXPECT_EQ(ended.code, 42);
        EXPECT_THAT(ended.err, HasSubstr("rank 1 "));
        EXPECT_THAT(ended.err, HasSubstr("called MPI_Abort with status 42"));
    }
}

TEST_P(MpiExitCode, OfOneThatDesertsIsNotZero) {
    auto const ended = run({"-n", "3", program, "desert", "0"});
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(ended.err, ContainsRegex("rank 2 .*without MPI_Finalize"));
    EXPECT_EQ(run({"-n", "3", program, "desert", "7"}).code, 7);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(MpiExitCode);
INSTANTIATE_TEST_SUITE_P(Mpis, MpiExitCode, testing::ValuesIn(mpis()),
                         [](auto const& mpi) { return mpi.param.name; });

}  // namespace
}  // namespace sinew::testing_support
