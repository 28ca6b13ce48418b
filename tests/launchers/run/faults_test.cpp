// SPDX-License-Identifier: Apache-2.0
//
// Faults around a job: readers, file systems, folders, and network routes back to the root.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Faults : public RunTest {};

std::string sinew_command() { return ::getenv("SINEW_TEST_COMMAND"); }

// Two nodes over TCP on this host; their agents are started by this command.
Words by_launch_agent(std::string const& command) {
    return {"-n", "2", "-H", "a,b", "--launch-agent", command, "--root-address", "127.0.0.1"};
}

// Regression: when its own messages were written last, `sinew run` noticed the end only at a 12 s
// timer.
TEST_F(Faults, ASlowReaderOfMessagesIsNotWaitedForAnyLongerThanItReads) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    // More than a pipe holds, written after everything else has ended.
    auto words = by_launch_agent("sh -c '\"$@\"; seq 20000 >&2' sh {command}");
    words.emplace_back("true");
    Launched job(words,
                 {.out = ends[1],
                  .command = {"/bin/sh", "-c", "exec \"$@\" 2>&1", "sh", sinew_command(), "run"}});
    ::close(ends[1]);
    // One process looks after the job's folder as long as `sinew run` does.
    EXPECT_TRUE(eventually([&] { return descendants_of(job.pid()).size() > 1; }));
    EXPECT_TRUE(eventually([&] { return descendants_of(job.pid()).size() <= 1; }, Seconds(60)));
    std::thread reader([&] {
        std::array<char, 65536> buffer;
        while (::read(ends[0], buffer.data(), buffer.size()) > 0) {}
    });
    EXPECT_TRUE(job.ends_within(Seconds(9))) << "it idles until a timer of 12 s";
    EXPECT_EQ(job.wait().code, 0);
    reader.join();
    ::close(ends[0]);
}

TEST_F(Faults, OutputThatNoFileTakesIsAFailure) {
    auto const nowhere = run({"-n", "2", "--output-filename", "/proc/nope", "echo", "hi"});
    EXPECT_EQ(nowhere.code, 2);
    EXPECT_THAT(nowhere.err, HasSubstr("--output-filename /proc/nope"));
    // Regression: a successful write to the terminal after a failed one to a full file hid the
    // failure.
    auto const folder = testing::TempDir() + text("sinew-full-", ::getpid());
    std::filesystem::create_directories(folder);
    for (int rank = 0; rank < 2; ++rank)
        std::filesystem::create_symlink("/dev/full", text(folder, "/rank.", rank, ".stdout"));
    auto const full = run({"-n", "2", "--output-filename", folder, "echo", "hi"});
    EXPECT_EQ(full.code, 125);
    EXPECT_THAT(full.err, HasSubstr("/rank."));
    EXPECT_THAT(full.err, HasSubstr("No space left"));
    std::filesystem::remove_all(folder);
}

TEST_F(Faults, ATableThatCannotBeWrittenIsAFailure) {
    for (Words const& words :
         {Words{"run", "--output", "json", "-n", "1", "true"}, Words{"info"}}) {
        int const full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
        // Leak reports would concern libraries that hwloc has unloaded, and cannot be attributed.
        Launched job(words, {.env = {{"ASAN_OPTIONS", "detect_leaks=0"}},
                             .out = full,
                             .command = {sinew_command()}});
        auto const ended = job.wait();
        ::close(full);
        EXPECT_EQ(ended.code, 125) << words.front();
        EXPECT_THAT(ended.err, HasSubstr("cannot be written")) << words.front();
    }
}

class DeletedFolder : public Faults {
protected:
    Ended run_there(Words words) {
        auto const folder = testing::TempDir() + text("sinew-deleted-", ::getpid());
        std::filesystem::create_directories(folder);
        words.insert(words.begin(), {"-c", "cd \"$0\" && rmdir \"$0\" && exec \"$@\"", folder,
                                     sinew_command(), "run"});
        return run(words, {.command = {"/bin/sh"}});
    }
};

TEST_F(DeletedFolder, IsNamedAndAnotherOneDoes) {
    auto const ended = run_there({"-n", "1", "true"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("the working folder has been deleted"));
    EXPECT_THAT(ended.err, HasSubstr("--wdir"));
    auto const elsewhere = run_there({"--fake-nodes", "2", "-n", "2", "--wdir", "/", "pwd"});
    EXPECT_EQ(elsewhere.code, 0) << elsewhere.err;
    EXPECT_EQ(elsewhere.out, "/\n/\n");
}

TEST_F(Faults, ClosingWordsBeginALine) {
    auto const ended = run({"-n", "1", "sh", "-c", "printf 'no newline' >&2; exit 3"});
    EXPECT_EQ(ended.code, 3);
    EXPECT_THAT(ended.err, HasSubstr("no newline\nsinew: rank 0"));
    // On the other stream, a program's bytes are not changed.
    auto const out = run({"-n", "1", "sh", "-c", "printf 'no newline'; exit 3"});
    EXPECT_EQ(out.out, "no newline");
}

// The end of the World counts, not that of the process: over sockets no library reports it.
TEST_F(Faults, WhoLeavesTheWorldWithCode0IsTheFirstCause) {
    for (Words nodes : {Words{}, Words{"--fake-nodes", "2"}}) {
        nodes.insert(nodes.end(), {"--output", "json", "--mpi", "none", "-n", "3",
                                   ::getenv("SINEW_TEST_WORLD_PROGRAM"), "desert", "1"});
        auto const ended = run(nodes, {.env = {{"SINEW_TRANSPORT", "socket"}}});
        EXPECT_EQ(ended.code, 1) << ended.err;
        EXPECT_THAT(ended.err, HasSubstr("sinew: rank 1 "));
        auto const table = nlohmann::json::parse(lines_of(ended.out).back());
        EXPECT_EQ(table["ends"][1]["part"], "failure");
        EXPECT_EQ(table["ends"][1]["first"], true);
    }
}

// Runs in a separate namespace, if that is permitted.
class BrokenHost : public Faults {
protected:
    void SetUp() override {
        Faults::SetUp();
        auto const all = mpis();
        if (all.empty() || all.front().name != "openmpi") GTEST_SKIP() << "no Open MPI";
        program_ = all.front().program;
        if (run({}, {.command = {"/usr/bin/unshare", "--net", "--mount", "/bin/true"}}).code != 0)
            GTEST_SKIP() << "namespaces are not allowed here";
    }

    // Runs two ranks of an MPI program in a new namespace, after these shell commands there.
    Ended run_in(std::string const& space, std::string const& commands) {
        return run({"-n", "2", program_, "layout"},
                   {.command = {"/usr/bin/unshare", space, "/bin/sh", "-c",
                                commands + "exec \"$@\"", "sh", sinew_command(), "run"}});
    }
    // With a /dev/shm of 1 MiB, of which this much is used.
    Ended run_with_shared_memory_filled(std::string const& filling) {
        return run_in("--mount",
                      "mount -t tmpfs -o size=1m tmpfs /dev/shm && mkdir -p \"$SINEW_TMPDIR\" && "
                      "{ head -c " +
                          filling + " /dev/zero > /dev/shm/fill; } 2>/dev/null; ");
    }

private:
    std::string program_;
};

TEST_F(BrokenHost, WithoutLoopbackIsNamedAsTheCause) {
    auto const ended = run_in("--net", "");
    EXPECT_NE(ended.code, 0);
    EXPECT_THAT(lines_of(ended.err).back(),
                AllOf(HasSubstr("the loopback interface is down"), HasSubstr("ip link set lo up")));
}

TEST_F(BrokenHost, WithoutSharedMemoryIsNamedAsTheCause) {
    auto const ended = run_with_shared_memory_filled("2m");
    EXPECT_EQ(ended.code, 125);
    EXPECT_THAT(lines_of(ended.err).back(),
                HasSubstr("/dev/shm cannot be written to (No space left on device)"));
}

// Regression: libpmix blocked MPI_Init forever if its shared memory could not grow.
TEST_F(BrokenHost, WithLittleSharedMemoryRunsTheJobAllTheSame) {
    auto const ended = run_with_shared_memory_filled("900k");
    EXPECT_EQ(ended.code, 0) << ended.err;
}

TEST_F(Faults, OneSidedCommunicationNeedsNoNetworkOfItsOwn) {
    for (auto const& mpi : mpis()) {
        if (mpi.name != "openmpi") continue;  // only Debian's settings of Open MPI interfere
        auto const ended = run({"--fake-nodes", "2", "-n", "2", mpi.program, "window"});
        EXPECT_EQ(ended.code, 0) << mpi.name << "\n" << ended.err;
        EXPECT_EQ(count_of(ended.out, "window "), 2U);
    }
}

// A program that handles SIGHUP otherwise gets SIGTERM before it is killed.
TEST_F(Faults, HangUpIsFollowedByTerm) {
    Launched job({"--grace", "8s", "-n", "1", "sh", "-c",
                  "trap '' HUP; trap 'echo asked; exit 0' TERM; echo ready; "
                  "while :; do sleep 0.1; done"});
    ASSERT_TRUE(job.says("ready"));
    job.signal(SIGHUP);
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 128 + SIGHUP);
    EXPECT_THAT(ended.out, HasSubstr("asked"));
}

TEST_F(Faults, ThatRepeatCannotHelpAreNotRepeated) {
    auto const ended = run({"--max-restarts", "3", "-n", "1", "/no/such/program"});
    EXPECT_EQ(ended.code, 127);
    EXPECT_THAT(ended.err, Not(HasSubstr("restart")));
}

TEST_F(Faults, AnAddressThatIsNoneIsNamedAtOnce) {
    auto const ended = run({"-n", "1", "-H", "a", "--launch-agent", "{command}", "--root-address",
                            "127.0.0.2x", "true"});
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("--root-address 127.0.0.2x"));
}

TEST_F(Faults, AnAgentThatCannotCallHomeSaysItOnce) {
    // A documentation address, which no host has.
    auto const ended = run({"-n", "1", "-H", "a", "--launch-agent", "{command}", "--root-address",
                            "192.0.2.1", "true"});
    EXPECT_EQ(ended.code, 125);
    EXPECT_EQ(count_of(ended.err, "cannot reach sinew run"), 1U) << ended.err;
    EXPECT_THAT(ended.err, HasSubstr("--root-address"));
    EXPECT_THAT(ended.err, Not(HasSubstr("?.")));
    EXPECT_THAT(ended.err, Not(HasSubstr("sshd")));
}

TEST_F(Faults, ADeadGuardianIsNamed) {
    Launched job({"--fake-nodes", "2", "-n", "2", rank_program(), "ignore", "15"});
    ASSERT_TRUE(job.says("ready", 2));
    auto const agents = job.agents(2);
    ASSERT_EQ(agents.size(), 2U);
    ::kill(agents[1].init_process, SIGKILL);
    auto const ended = job.wait();
    EXPECT_EQ(ended.code, 125);
    EXPECT_THAT(lines_of(ended.err).back(), HasSubstr("its init_process was killed"));
}

TEST_F(Faults, AScriptThatNamesNoInterpreterGetsARemedy) {
    auto const path = testing::TempDir() + text("sinew-script-", ::getpid());
    {
        std::ofstream(path) << "echo hi\n";
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    auto const ended = run({"-n", "1", path});
    EXPECT_EQ(ended.code, 126);
    EXPECT_THAT(ended.err, HasSubstr("#!/bin/sh"));
    std::filesystem::remove(path);
}

TEST_F(Faults, WordsSayNothingTwice) {
    EXPECT_THAT(run({"-H", "", "-n", "1", "true"}).err,
                AllOf(HasSubstr("HOST[:N]"), Not(HasSubstr("something"))));
    Launched job({"--grace", "30s", "-n", "1", rank_program(), "ignore", "2", "15"});
    ASSERT_TRUE(job.says("ready"));
    job.signal(SIGINT);
    EXPECT_TRUE(eventually([&] { return !job.ends_within(Seconds(1)); }));
    job.signal(SIGINT);
    EXPECT_THAT(job.wait().err, Not(HasSubstr("first of")));
    for (auto const& mpi : mpis()) {
        EXPECT_THAT(run({"-n", "2", mpi.program, "desert", "0"}).err,
                    Not(HasSubstr("it left without")))
            << mpi.name;
        EXPECT_THAT(run({"-n", "2", mpi.program, "abort", "17"}).err, Not(HasSubstr("N/A")));
    }
}

TEST_F(Faults, DryRunTellsWhatWouldNotStart) {
    auto const program = run({"--dry-run", "-n", "2", "/no/such/program"});
    EXPECT_EQ(program.code, 127);
    EXPECT_THAT(program.err, HasSubstr("/no/such/program"));
    EXPECT_THAT(program.out, HasSubstr("2 ranks")) << "the map is shown all the same";
    auto const folder = run({"--dry-run", "-n", "2", "--wdir", "/no/such/folder", "true"});
    EXPECT_EQ(folder.code, 127);
    EXPECT_THAT(folder.err, HasSubstr("/no/such/folder"));
    EXPECT_EQ(run({"--dry-run", "-n", "2", "true"}).code, 0);
}

}  // namespace
}  // namespace sinew::testing_support
