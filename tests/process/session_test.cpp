// SPDX-License-Identifier: Apache-2.0
// Which processes end together, and that nothing remains of any of them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sinew/process.hpp>
#include <thread>

#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"
#include "src/process/child/child_environment.hpp"
#include "src/process/runtime.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Optional;
using testing_support::eventually;
using testing_support::is_alive;

// A child that fails before main(), as with a missing library or a static object.
[[maybe_unused]] bool const early = [] {
    char const* const how = std::getenv("SINEW_TEST_EARLY");
    if (how == nullptr || std::getenv("SINEW_CHILD") == nullptr) return false;
    std::fprintf(stderr, "early words\n");
    if (std::string_view(how) == "hang")
        for (;;) ::pause();
    std::abort();
}();

void sleep_in_family() {
    for (;;) ::pause();
}

/// Receives numbers from descendants through a pipe that they open by its path in /proc.
class Reports {
public:
    Reports() : ends_(make_pipe()) {}
    std::string path() const { return text("/proc/", ::getpid(), "/fd/", ends_.second.get()); }
    pid_t next() const {
        pid_t number = 0;
        pollfd waiting{ends_.first.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 60'000) != 1) return number;
        EXPECT_EQ(::read(ends_.first.get(), &number, sizeof number),
                  static_cast<ssize_t>(sizeof number));
        return number;
    }

private:
    std::pair<UniqueFd, UniqueFd> ends_;
};

void report(std::string const& path, pid_t number) {
    UniqueFd const pipe(::open(path.c_str(), O_WRONLY));
    if (::write(pipe.get(), &number, sizeof number) != sizeof number) std::abort();
}

void middle(std::string const& reports) {
    Process below(task<sleep_in_family>);
    below.start();
    report(reports, below.pid());
    sleep_in_family();
}

enum class Way { wait, exit, exit_in_thread, quick };

void parent(std::string const& reports, Way way) {
    Reports own;
    Process one(task<sleep_in_family>), other(task<middle>, own.path());
    one.start();
    other.start();
    for (pid_t const pid : {one.pid(), other.pid(), own.next()}) report(reports, pid);
    if (way == Way::exit) std::exit(17);
    if (way == Way::exit_in_thread) std::thread([] { std::exit(17); }).join();
    if (way == Way::quick) ::_exit(17);
    sleep_in_family();
}

class Family : public testing::Test {
protected:
    /// Of a session of four processes below this one, three report their pids.
    void expect_all_gone_after(Way way, int signal, int code) {
        Process process(task<parent>, reports.path(), way);
        process.start();
        pid_t const pids[] = {reports.next(), reports.next(), reports.next()};
        if (signal != 0) ::kill(process.pid(), signal);
        EXPECT_TRUE(process.join(60s));
        EXPECT_THAT(process.exitcode(), Optional(code));
        for (pid_t const pid : pids) EXPECT_TRUE(eventually([&] { return !is_alive(pid); })) << pid;
    }
    testing_support::LeakCheck leaks;
    Reports reports;
};

// G22 (Fiber), and G15 by the leak check: a process does not outlive its parent.
TEST_F(Family, EndsWhenTheParentIsKilled) { expect_all_gone_after(Way::wait, SIGKILL, -SIGKILL); }
TEST_F(Family, EndsWhenTheParentIsTerminated) {
    expect_all_gone_after(Way::wait, SIGTERM, -SIGTERM);
}
TEST_F(Family, EndsWhenTheParentExits) { expect_all_gone_after(Way::exit, 0, 17); }
TEST_F(Family, EndsWhenTheParentExitsInAThread) {
    expect_all_gone_after(Way::exit_in_thread, 0, 17);
}
TEST_F(Family, EndsWhenTheParentLeavesWithoutAWord) { expect_all_gone_after(Way::quick, 0, 17); }

// G15 (Fiber)
TEST_F(Family, LeavesNoFolderOfItsMembers) {
    Process process([] {
        auto& runtime = process::Runtime::instance();
        std::lock_guard const lock(runtime.guard());
        runtime.addresses();
    });
    process.start();
    process.join();
    auto& runtime = process::Runtime::instance();
    std::lock_guard const lock(runtime.guard());
    for (auto const& entry : std::filesystem::directory_iterator(runtime.folder()))
        EXPECT_FALSE(entry.path().filename().string().starts_with("proc-")) << entry.path();
}

// G13 (Fiber)
TEST_F(Family, AnEarlyDeathIsToldWithTheLog) {
    ::setenv("SINEW_TEST_EARLY", "abort", 1);
    Process process({.name = "doomed"}, task<sleep_in_family>);
    try {
        process.start();
        ADD_FAILURE() << "it started";
    } catch (StartFailed const& failure) {
        EXPECT_THAT(failure.what(), HasSubstr("doomed"));
        EXPECT_THAT(failure.what(), HasSubstr("killed by signal 6"));
        EXPECT_THAT(failure.what(), HasSubstr("early words"));
    }
    ::unsetenv("SINEW_TEST_EARLY");
    EXPECT_FALSE(process.is_alive());
}

TEST_F(Family, AStartThatHangsIsGivenUp) {
    ::setenv("SINEW_TEST_EARLY", "hang", 1);
    Process process({.start_timeout = 300ms}, task<sleep_in_family>);
    EXPECT_THROW(process.start(), StartFailed);
    ::unsetenv("SINEW_TEST_EARLY");
    EXPECT_THAT(process.exitcode(), Optional(-SIGKILL));
}

void write_much() {
    for (int i = 0; i < 20'000; ++i) std::fprintf(stderr, "%0127d\n", i);
}

// The process in between reads its standard error slowly.
void read_slowly() {
    auto [read, write] = make_pipe();
    ::dup2(write.get(), STDERR_FILENO);
    write = UniqueFd();
    std::size_t total = 0;
    std::thread reader([&total, &read = read] {
        char buffer[65536];
        while (total < std::size_t{20'000} * 128) {
            ssize_t const count = ::read(read.get(), buffer, sizeof buffer);
            if (count <= 0) break;
            total += static_cast<std::size_t>(count);
            std::this_thread::sleep_for(5ms);
        }
    });
    Process process(task<write_much>);
    process.start();
    process.join();
    reader.join();
    std::exit(total == std::size_t{20'000} * 128 ? 0 : 1);
}

TEST_F(Family, NothingOfStandardErrorIsLostWhenOursIsSlow) {
    Process process(task<read_slowly>);
    process.start();
    ASSERT_TRUE(process.join(60s));
    EXPECT_THAT(process.exitcode(), Optional(0));
}

TEST_F(Family, TheirEnvironmentIsNotThatOfARank) {
    for (auto const* name : {"SINEW_RANK", "SINEW_WORLD_FILE", "OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                             "PMI_FD", "PMI_RANK", "SLURM_PROCID", "RANK", "OMPI_MCA_ess"})
        EXPECT_TRUE(process::makes_a_rank(name)) << name;
    for (auto const* name : {"PATH", "SINEW_TMPDIR", "SLURM_JOB_ID", "OMP_NUM_THREADS",
                             "OMPI_ALLOW_RUN_AS_ROOT", "CUDA_VISIBLE_DEVICES"})
        EXPECT_FALSE(process::makes_a_rank(name)) << name;
}

}  // namespace
}  // namespace sinew
