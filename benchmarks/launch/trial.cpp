// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/launch/trial.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <sinew/error.hpp>
#include <sstream>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {
namespace {

double now() {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);  // the clock of the ranks
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double cpu_of_children() {
    struct rusage usage {};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    auto const seconds = [](timeval const& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Starts the command in its own process group, so that all of it can be killed.
pid_t start(std::vector<std::string> const& command, int out) {
    std::vector<char*> words;
    for (auto const& word : command) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    pid_t pid = 0;
    int const error =
        ::posix_spawnp(&pid, words[0], &actions, &attributes, words.data(), ::environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    if (error != 0)
        throw SystemError(text(command[0], " cannot be started (", std::strerror(error), ")"),
                          error);
    return pid;
}

// Reads until the command closes its output, or until the time `until`.
std::string read_all(int fd, double until) {
    std::string output;
    std::array<char, 4096> buffer;
    for (;;) {
        pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
        int const patience = static_cast<int>(std::max(0.0, until - now()) * 1000);
        if (::poll(&ready, 1, patience) <= 0) return output;
        ssize_t const count = ::read(fd, buffer.data(), buffer.size());
        if (count <= 0) return output;
        output.append(buffer.data(), static_cast<std::size_t>(count));
    }
}

}  // namespace

Trial run_trial(std::vector<std::string> const& command, int ranks, double limit) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemError("pipe failed", errno);
    double const cpu = cpu_of_children(), begin = now();
    pid_t const pid = start(command, ends[1]);
    ::close(ends[1]);
    auto const output = read_all(ends[0], begin + limit);
    ::close(ends[0]);
    int status = 0;
    if (now() - begin >= limit) ::kill(-pid, SIGKILL);
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
    Trial trial{.init = 0, .total = now() - begin, .cpu = cpu_of_children() - cpu};

    int reported = 0;
    std::istringstream words(output);
    std::string past, of;
    double when = 0;
    for (int size = 0; words >> past >> when >> of >> size;) {
        reported += size == ranks;
        trial.init = std::max(trial.init, when - begin);
    }
    if (status != 0 || reported != ranks)
        throw Error(text(join(command, " "), " ended with status ", status, ", and ", reported,
                         " of ", ranks, " ranks reported from a world of that size"));
    return trial;
}

}  // namespace sinew::bench
