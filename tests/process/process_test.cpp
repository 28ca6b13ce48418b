// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sinew/process.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "src/base/system/spawn.hpp"
#include "src/base/system/unique_fd.hpp"
#include "src/base/text.hpp"
#include "tests/support/child.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Optional;

void nothing() {}
void leave(int code) { std::exit(code); }
void fail(std::string const& words) { throw std::out_of_range(words); }
void die(int signal) { ::raise(signal); }
void sleep_for_ever() {
    for (;;) ::pause();
}
void ignore_sigterm(int ready) {
    ::signal(SIGTERM, SIG_IGN);
    // The pipe's path, unlike its descriptor number, is valid in both processes.
    UniqueFd const fifo(::open(text("/proc/", ::getppid(), "/fd/", ready).c_str(), O_WRONLY));
    if (::write(fifo.get(), "x", 1) != 1) return;
    sleep_for_ever();
}

struct Add {
    int a = 0;
    std::vector<int> more;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(a, more);
    }
    void operator()(int b) const {
        int sum = a + b;
        for (int const each : more) sum += each;
        std::exit(sum);
    }
};

std::optional<int> code_of(Process& process) {
    process.start();
    EXPECT_TRUE(process.join(60s));
    return process.exitcode();
}

TEST(Process, TellsHowItsTaskEnded) {
    Process returns(task<nothing>), exits(task<leave>, 41), throws(task<fail>, "no such cell"),
        dies(task<die>, SIGUSR1);
    EXPECT_THAT(code_of(returns), Optional(0));
    EXPECT_THAT(code_of(exits), Optional(41));
    testing::internal::CaptureStderr();
    EXPECT_THAT(code_of(throws), Optional(1));
    auto const log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("::fail"));
    EXPECT_THAT(log, HasSubstr("std::out_of_range: no such cell"));
    EXPECT_THAT(log, HasSubstr(throws.name()));
    EXPECT_THAT(code_of(dies), Optional(-SIGUSR1));
}

// As after trap '' CHLD in a shell: exec inherits that, and the kernel then drops exit codes.
TEST(Process, ExitCodesAreKnownWhereSigchldIsIgnored) {
    for (int const flags : {0, SA_NOCLDWAIT}) {
        struct sigaction ignored {};
        struct sigaction before {};
        ignored.sa_handler = flags == 0 ? SIG_IGN : SIG_DFL;
        ignored.sa_flags = flags;
        ASSERT_EQ(::sigaction(SIGCHLD, &ignored, &before), 0);
        Process exits(task<leave>, 41), dies(task<die>, SIGUSR1);
        EXPECT_THAT(code_of(exits), Optional(41));
        EXPECT_THAT(code_of(dies), Optional(-SIGUSR1));
        ::sigaction(SIGCHLD, &before, nullptr);
    }
}

TEST(Process, RunsLambdasAndFunctionObjectsWithTheirArguments) {
    Process lambda([](int a, std::string const& b) { std::exit(a + static_cast<int>(b.size())); },
                   40, "ab");
    EXPECT_THAT(code_of(lambda), Optional(42));
    Process object(Add{.a = 1, .more = {10, 20}}, 3);
    EXPECT_THAT(code_of(object), Optional(34));
    std::vector<double> const large(5'000'000, 0.5);
    Process much([](std::vector<double> const& all) { std::exit(all.size() == 5'000'000 ? 5 : 6); },
                 large);
    EXPECT_THAT(code_of(much), Optional(5));
}

void check_bytes(std::vector<char> const& bytes, std::size_t size) {
    if (bytes.size() != size || bytes.front() != 'a' || bytes.back() != 'z') std::exit(1);
    for (std::size_t i = 1; i + 1 < size; ++i)
        if (bytes[i] != 'm') std::exit(2);
}

TEST(Process, TakesAFunctionByItsNameAndArgumentsOfAnySize) {
    for (std::size_t const size : {2U, 1U << 20, 5'000'001U}) {
        std::vector<char> bytes(size, 'm');
        bytes.front() = 'a';
        bytes.back() = 'z';
        Process process(check_bytes, bytes, size);
        process.start();
        process.join();
        EXPECT_THAT(process.exitcode(), Optional(0)) << size;
    }
}

TEST(Process, HasAStateAtAnyTime) {
    Process process({.name = "sleeper"}, task<sleep_for_ever>);
    EXPECT_EQ(process.name(), "sleeper");
    process.name("other sleeper");
    EXPECT_EQ(process.pid(), 0);
    EXPECT_FALSE(process.is_alive());
    EXPECT_EQ(process.exitcode(), std::nullopt);
    process.start();
    EXPECT_GT(process.pid(), 0);
    EXPECT_TRUE(process.is_alive());
    EXPECT_EQ(process.exitcode(), std::nullopt);
    EXPECT_FALSE(process.join(0s));
    EXPECT_FALSE(process.join(10ms));
    auto const children = active_children();
    ASSERT_EQ(children.size(), 1u);
    EXPECT_EQ(children[0].name, "other sleeper");
    EXPECT_EQ(children[0].pid, process.pid());
    process.kill();
    process.join();
    EXPECT_FALSE(process.is_alive());
    EXPECT_THAT(process.exitcode(), Optional(-SIGKILL));
    EXPECT_TRUE(process.join(0s));
    process.kill();  // no effect
    process.terminate();
    EXPECT_TRUE(active_children().empty());
}

TEST(Process, SaysWhatIsWrong) {
    Process process(task<nothing>);
    EXPECT_THROW(process.join(), UsageError);
    EXPECT_THROW(process.join(1s), UsageError);
    EXPECT_THROW(process.terminate(), UsageError);
    EXPECT_THROW(process.kill(), UsageError);
    EXPECT_THROW(process.sentinel(), UsageError);
    process.start();
    EXPECT_THROW(process.start(), UsageError);
    EXPECT_THROW(process.name("late"), UsageError);
    process.join();
    EXPECT_THROW(process.start(), UsageError);
}

TEST(Process, TheSentinelWorksWithPollAbove1024) {
    Process warm(task<nothing>);
    code_of(warm);
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    if (before.rlim_max < 3000) GTEST_SKIP() << "only " << before.rlim_max << " descriptors";
    rlimit const many{3000, before.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &many);
    std::vector<UniqueFd> low;
    do low.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    while (low.back().get() < 1100);
    Process process(task<sleep_for_ever>);
    process.start();
    EXPECT_GT(process.sentinel(), 1024);
    pollfd waiting{process.sentinel(), POLLIN, 0};
    EXPECT_EQ(::poll(&waiting, 1, 0), 0);
    process.terminate();
    EXPECT_EQ(::poll(&waiting, 1, 60'000), 1);
    EXPECT_THAT(process.exitcode(), Optional(-SIGTERM)) << "at once";
    low.clear();
    ::setrlimit(RLIMIT_NOFILE, &before);
}

TEST(Process, HasTheEnvironmentFolderAndOutputThatItIsGiven) {
    testing_support::TempFolder const folder;
    for (char const* const words : {"one", "two"}) {
        Process process({.env = {text("SINEW_TEST_WORDS=", words)},
                         .folder = folder.path().string(),
                         .out = "out"},
                        [] {
                            std::printf("%s in %s\n", std::getenv("SINEW_TEST_WORDS"),
                                        std::filesystem::current_path().c_str());
                            std::fflush(stdout);
                        });
        EXPECT_THAT(code_of(process), Optional(0));
    }
    std::ifstream file(folder.path() / "out");
    std::string const content{std::istreambuf_iterator<char>(file), {}};
    auto const where = std::filesystem::canonical(folder.path()).string();
    EXPECT_EQ(content, text("one in ", where, "\ntwo in ", where, "\n"));
}

template <class Expected>
void expect_refusal(ProcessOptions options, std::string const& words) {
    Process process(std::move(options), task<nothing>);
    try {
        process.start();
        FAIL() << "it started";
    } catch (Expected const& error) {
        EXPECT_THAT(error.what(), HasSubstr(words));
    }
    EXPECT_TRUE(active_children().empty());
}

TEST(Process, RefusesAnEnvironmentFolderOrOutputThatCannotBe) {
    expect_refusal<UsageError>({.env = {"NOTHING"}}, "\"NOTHING\"");
    expect_refusal<UsageError>({.env = {"=x"}}, "\"=x\"");
    expect_refusal<UsageError>({.env = {""}}, "\"\"");
#ifndef SINEW_TEST_TSAN  // it turns vfork into fork, after which a child cannot report what failed
    expect_refusal<SystemError>({.folder = "/no/such/folder"}, "/no/such/folder");
#endif
    expect_refusal<SystemError>({.out = "/no/such/folder/out"}, "/no/such/folder/out");
}

TEST(Process, RunsInThisProcessToo) {
    static int seen = 0;
    Process process([](int value) { seen = value; }, 17);
    process.run();
    process.run();
    EXPECT_EQ(seen, 17);
    Process throwing(task<fail>, "here");
    EXPECT_THROW(throwing.run(), std::out_of_range);
}

TEST(Process, ItsDestructorWaits) {
    auto [read, write] = make_pipe();
    {
        Process process(
            [](int parents) {
                UniqueFd const pipe(
                    ::open(text("/proc/", ::getppid(), "/fd/", parents).c_str(), O_WRONLY));
                std::this_thread::sleep_for(200ms);
                if (::write(pipe.get(), "done", 4) != 4) std::abort();
            },
            write.get());
        process.start();
    }
    char words[4] = {};
    ::fcntl(read.get(), F_SETFL, O_NONBLOCK);
    EXPECT_EQ(::read(read.get(), words, 4), 4);
}

TEST(Process, ADaemonIsEndedByItsDestructor) {
    auto [read, write] = make_pipe();
    pid_t pid = 0;
    {
        Process polite({.daemon = true}, task<sleep_for_ever>);
        polite.start();
        Process stubborn({.daemon = true, .grace = 100ms}, task<ignore_sigterm>, write.get());
        stubborn.start();
        char ready = 0;
        ASSERT_EQ(::read(read.get(), &ready, 1), 1);
        pid = stubborn.pid();
    }
    EXPECT_NE(::kill(pid, 0), 0);
}

TEST(Process, AnExceptionDoesNotWaitForIt) {
    EXPECT_THROW(
        {
            Process process(task<sleep_for_ever>);
            process.start();
            throw std::runtime_error("meanwhile");
        },
        std::runtime_error);
    EXPECT_TRUE(active_children().empty());
}

TEST(Process, IsMovable) {
    std::vector<Process> all;
    for (int i = 0; i < 5; ++i) all.emplace_back(task<leave>, i);
    for (auto& each : all) each.start();
    for (auto& each : all) each.join();
    for (int i = 0; i < 5; ++i)
        EXPECT_THAT(all[static_cast<std::size_t>(i)].exitcode(), Optional(i));
}

TEST(Process, KnowsItself) {
    EXPECT_EQ(current_process().name, "MainProcess");
    EXPECT_EQ(current_process().pid, ::getpid());
    Process process(
        {.name = "the child"},
        [](int parent) {
            auto const me = current_process();
            bool const good = me.name == "the child" && me.pid == ::getpid() && me.parent == parent;
            std::exit(good ? 0 : 2);
        },
        static_cast<int>(::getpid()));
    EXPECT_THAT(code_of(process), Optional(0));
}

TEST(Process, CountsProcessors) {
    int const all = cpu_count();
    EXPECT_GE(all, 1);
    cpu_set_t before, one;
    ::sched_getaffinity(0, sizeof before, &before);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
        if (CPU_ISSET(i, &before)) CPU_SET(i, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    EXPECT_EQ(cpu_count(), 1);
    ::sched_setaffinity(0, sizeof before, &before);
    EXPECT_EQ(cpu_count(), all);
}

TEST(Process, ThreadsMayEachHaveTheirs) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([i] {
            for (int k = 0; k < 5; ++k) {
                Process process(task<leave>, i);
                EXPECT_THAT(code_of(process), Optional(i));
            }
        });
    for (auto& thread : threads) thread.join();
}

TEST(Process, AForkedProcessLeavesItAlone) {
    Process process(task<sleep_for_ever>);
    process.start();
    testing_support::Child fork([&] {
        Process const moved(std::move(process));
        try {
            Process another(task<nothing>);
            another.start();
            return 1;
        } catch (UsageError const&) {
            return 0;
        }
    });
    EXPECT_EQ(fork.wait(), 0);
    EXPECT_TRUE(process.is_alive());
    process.kill();
}

void grandparent() {
    Process child([] {
        Process grandchild(task<leave>, 21);
        grandchild.start();
        grandchild.join();
        std::exit(2 * *grandchild.exitcode());
    });
    child.start();
    child.join();
    std::exit(*child.exitcode() + 1);
}

TEST(Process, MayHaveProcessesOfItsOwn) {
    Process process(task<grandparent>);
    EXPECT_THAT(code_of(process), Optional(43));
}

}  // namespace
}  // namespace sinew
