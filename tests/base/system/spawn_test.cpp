// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/spawn.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <thread>

namespace sinew {
namespace {

SpawnRequest shell(std::string script) {
    SpawnRequest request;
    request.path = "/bin/sh";
    request.argv = {"sh", "-c", std::move(script)};
    request.env = {"NAME=value"};
    return request;
}

// The output of the command, until it closes its standard output.
std::string output_of(SpawnRequest request, int& status) {
    auto [from, to] = make_pipe();
    request.out = to.get();
    auto const child = spawn(request);
    EXPECT_EQ(child.error, 0) << child.step;
    to = {};
    std::string all;
    std::array<char, 256> piece{};
    for (ssize_t count = 0; (count = ::read(from.get(), piece.data(), piece.size())) > 0;)
        all.append(piece.data(), static_cast<std::size_t>(count));
    pollfd ended{.fd = child.ended.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&ended, 1, 10'000), 1);
    EXPECT_TRUE(reap(child.pid, status));
    return all;
}

TEST(Spawn, RunsInItsFolderWithItsVariablesAndItsOwnGroup) {
    auto request = shell(
        "pwd; echo $NAME; read _ _ _ _ group _ </proc/self/stat; "
        "[ $group = $$ ] && echo own group; exit 7");
    request.folder = "/usr";
    int status = 0;
    EXPECT_EQ(output_of(std::move(request), status), "/usr\nvalue\nown group\n");
    EXPECT_EQ(WEXITSTATUS(status), 7);
}

// The thread sanitizer replaces vfork by fork: the parent does not see what the child records, and
// a thread that spawned a child may end before the child has set its parent-death signal.
#ifdef SINEW_TEST_TSAN
#define SKIP_WITHOUT_VFORK() GTEST_SKIP() << "no vfork under this sanitizer"
#else
#define SKIP_WITHOUT_VFORK() static_cast<void>(0)
#endif

TEST(Spawn, SaysWhichFolderIsNotThere) {
    SKIP_WITHOUT_VFORK();
    auto request = shell("true");
    request.folder = "/no/such/folder";
    auto const child = spawn(request);
    EXPECT_EQ(child.error, ENOENT);
    EXPECT_EQ(child.step, "change to the folder /no/such/folder");
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(Spawn, SaysWhichProgramCannotBeExecuted) {
    SKIP_WITHOUT_VFORK();
    auto request = shell("true");
    request.path = "/etc/passwd";
    auto const child = spawn(request);
    EXPECT_EQ(child.error, EACCES);
    EXPECT_EQ(child.step, "execute /etc/passwd");
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(Spawn, SaysWhichDescriptorCannotBeKept) {
    SKIP_WITHOUT_VFORK();
    auto request = shell("true");
    request.keep = {1'000'000};
    auto const child = spawn(request);
    EXPECT_EQ(child.error, EBADF);
    EXPECT_EQ(child.step, "fcntl");
}

TEST(Spawn, InheritsWhatIsKeptAndNothingElse) {
    auto [kept, kept_end] = make_pipe();
    auto [closed, closed_end] = make_pipe();
    auto request =
        shell("[ -e /proc/self/fd/" + std::to_string(kept.get()) + " ] && echo kept; " +
              "[ -e /proc/self/fd/" + std::to_string(closed.get()) + " ] || echo closed");
    request.keep = {kept.get()};
    int status = 0;
    EXPECT_EQ(output_of(std::move(request), status), "kept\nclosed\n");
}

TEST(Spawn, InheritsNoneThatWasLeftOpenForChildrenWhereOnlyTheKeptAreWanted) {
    auto [left_open, left_open_end] = make_pipe();
    auto [kept, kept_end] = make_pipe();
    ASSERT_EQ(::fcntl(left_open.get(), F_SETFD, 0), 0);
    auto const number = std::to_string(left_open.get());
    auto request = shell("[ -e /proc/self/fd/" + number + " ] && echo inherited; " +
                         "[ -e /proc/self/fd/" + std::to_string(kept.get()) + " ] && echo kept; :");
    int status = 0;
    EXPECT_EQ(output_of(request, status), "inherited\n");
    request.only_kept = true;
    request.keep = {kept.get()};
    EXPECT_EQ(output_of(request, status), "kept\n");
}

TEST(Spawn, EndsByItsDeathSignalWithTheThreadThatStartedIt) {
    SKIP_WITHOUT_VFORK();
    auto request = shell("exec sleep 60");
    request.death_signal = SIGTERM;
    Spawned child;
    std::thread([&] { child = spawn(request); }).join();
    ASSERT_EQ(child.error, 0) << child.step;
    pollfd ended{.fd = child.ended.get(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&ended, 1, 10'000), 1);
    int status = 0;
    ASSERT_TRUE(reap(child.pid, status));
    EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

}  // namespace
}  // namespace sinew
