// SPDX-License-Identifier: Apache-2.0
#include "launchers/program/command_output.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>

#include "launchers/common/pipe_size.hpp"
#include "src/base/system/unique_fd.hpp"

extern char** environ;

namespace sinew::launch {

namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
    UniqueFd read, write;
};

bool open_pipe(Pipe& pipe) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    pipe.read = UniqueFd(ends[0]);
    pipe.write = UniqueFd(ends[1]);
    return ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
}

std::vector<char*> pointers(std::vector<std::string> const& words) {
    std::vector<char*> all;
    for (auto const& word : words) all.push_back(const_cast<char*>(word.c_str()));
    all.push_back(nullptr);
    return all;
}

/// Owns the file actions and attributes of posix_spawn.
class SpawnPlan {
public:
    SpawnPlan(int out, int err) {
        ::posix_spawn_file_actions_init(&files_);
        ::posix_spawnattr_init(&attributes_);
        ::posix_spawn_file_actions_addopen(&files_, 0, "/dev/null", O_RDONLY, 0);
        ::posix_spawn_file_actions_adddup2(&files_, out, 1);
        ::posix_spawn_file_actions_adddup2(&files_, err, 2);
        // The command gets its own process group, so that all of it can be killed, and does not
        // inherit blocked or ignored signals.
        sigset_t none, defaults;
        sigemptyset(&none);
        sigemptyset(&defaults);
        for (int const signal : {SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGHUP, SIGQUIT})
            sigaddset(&defaults, signal);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &defaults);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(
            &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
    SpawnPlan(SpawnPlan const&) = delete;
    SpawnPlan& operator=(SpawnPlan const&) = delete;
    ~SpawnPlan() {
        ::posix_spawn_file_actions_destroy(&files_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    int start(pid_t& pid, char** argv, char** environment) const {
        return ::posix_spawnp(&pid, argv[0], &files_, &attributes_, argv, environment);
    }

private:
    posix_spawn_file_actions_t files_{};
    posix_spawnattr_t attributes_{};
};

/// Reads the available bytes, at most the capacity of a pipe, since others may keep writing.
/// Returns false at the end of the stream.
bool drain(int fd, std::string& into, std::size_t limit) {
    std::array<char, 8192> chunk;
    for (auto left = pipe_size(fd); left > 0;) {
        auto const count = ::read(fd, chunk.data(), chunk.size());
        if (count == 0) return false;
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno == EAGAIN;
        auto const taken = static_cast<std::size_t>(count);
        into.append(chunk.data(), std::min(taken, limit - into.size()));
        left -= std::min(left, taken);
    }
    return true;
}

int milliseconds_until(Clock::time_point deadline) {
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

/// Without pidfds (Linux before 5.3) the process is polled for its end.
bool has_ended(pid_t pid) {
    siginfo_t info{};
    return ::waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == pid;
}

void collect(pid_t pid, Pipe& out, Pipe& err, CommandLimits const& limits, CommandOutput& result) {
    auto const deadline = Clock::now() + limits.time;
    UniqueFd const alive(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    std::array<pollfd, 3> waits{pollfd{out.read.get(), POLLIN, 0},
                                pollfd{err.read.get(), POLLIN, 0}, pollfd{alive.get(), POLLIN, 0}};
    for (;;) {
        int const left = milliseconds_until(deadline);
        if (::poll(waits.data(), waits.size(), alive ? left : std::min(left, 10)) < 0 &&
            errno != EINTR)
            break;
        // This precedes the last draining, so that all output written before the end is read.
        bool const ended = alive ? (waits[2].revents != 0) : has_ended(pid);
        if (waits[0].fd >= 0 && !drain(waits[0].fd, result.out, limits.bytes)) waits[0].fd = -1;
        if (waits[1].fd >= 0 && !drain(waits[1].fd, result.err, limits.bytes)) waits[1].fd = -1;
        if (ended) return;
        if (milliseconds_until(deadline) == 0) break;
    }
    result.timed_out = true;
    ::kill(-pid, SIGKILL);
}

}  // namespace

CommandOutput command_output(std::vector<std::string> const& argv, CommandLimits const& limits,
                             std::vector<std::string> const& environment) {
    CommandOutput result;
    Pipe out, err;
    if (argv.empty() || !open_pipe(out) || !open_pipe(err)) {
        result.start_error = argv.empty() ? EINVAL : errno;
        return result;
    }
    auto words = pointers(argv);
    auto variables = pointers(environment);
    pid_t pid = -1;
    result.start_error =
        SpawnPlan(out.write.get(), err.write.get())
            .start(pid, words.data(), environment.empty() ? environ : variables.data());
    if (result.start_error != 0) return result;
    out.write = UniqueFd();
    err.write = UniqueFd();
    collect(pid, out, err, limits, result);
    int status = 0;
    pid_t reaped = -1;
    do reaped = ::waitpid(pid, &status, 0);
    while (reaped < 0 && errno == EINTR);
    if (reaped == pid && !result.timed_out)
        result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
}

}  // namespace sinew::launch
