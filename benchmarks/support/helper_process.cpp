// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/helper_process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sinew/error.hpp>
#include <thread>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;

std::array<int, 2> make_pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw SystemError("pipe failed", errno);
    return ends;
}

/// Returns the processes that were started with this entry in their environment.
std::vector<pid_t> marked_processes(std::string const& entry) {
    std::vector<pid_t> found;
    DIR* const all = ::opendir("/proc");
    if (all == nullptr) return found;
    while (dirent const* const each = ::readdir(all)) {
        pid_t const pid = std::atoi(each->d_name);
        if (pid <= 0) continue;
        std::ifstream file(text("/proc/", pid, "/environ"), std::ios::binary);
        std::string const words{std::istreambuf_iterator<char>(file), {}};
        if (text('\0', words).find(text('\0', entry, '\0')) != std::string::npos)
            found.push_back(pid);
    }
    ::closedir(all);
    return found;
}

std::vector<char*> pointers(std::vector<std::string> const& words) {
    std::vector<char*> all;
    for (auto const& word : words) all.push_back(const_cast<char*>(word.c_str()));
    all.push_back(nullptr);
    return all;
}

}  // namespace

HelperProcess::HelperProcess(std::vector<std::string> const& command) : name_(command.front()) {
    static int number = 0;
    marker_ = text("SINEW_BENCH_HELPER=", ::getpid(), "-", ++number);
    std::vector<std::string> environment{marker_};
    for (char** each = ::environ; *each != nullptr; ++each) environment.emplace_back(*each);
    auto const in = make_pipe(), out = make_pipe();
    errors_ = ::memfd_create("errors", MFD_CLOEXEC);
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions, errors_, STDERR_FILENO);
    ::posix_spawnattr_init(&attributes);
    // A separate process group: on Ctrl-C, this process ends the helper by closing its input.
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    int const error = ::posix_spawnp(&pid_, command[0].c_str(), &actions, &attributes,
                                     pointers(command).data(), pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
    ::close(in[0]);
    ::close(out[1]);
    to_ = in[1];
    from_ = out[0];
    if (error == 0) return;
    for (int const fd : {to_, from_, errors_}) ::close(fd);
    throw SystemError(text(name_, " cannot be started (", std::strerror(error), ")"), error);
}

HelperProcess::~HelperProcess() {
    ::close(to_);
    auto const until = Clock::now() + std::chrono::seconds(15);
    while (!ended() && Clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    kill_all();
    ::close(from_);
    ::close(errors_);
}

bool HelperProcess::ended() {
    if (pid_ > 0 && ::waitpid(pid_, nullptr, WNOHANG) == pid_) pid_ = -1;
    return pid_ < 0;
}

void HelperProcess::kill_all() const {
    // Repeat, because a process may start another while it is being killed.
    for (int round = 0; round < 100; ++round) {
        auto const left = marked_processes(marker_);
        if (left.empty()) break;
        for (pid_t const pid : left) ::kill(pid, SIGKILL);
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
}

std::string HelperProcess::last_words() const {
    std::string words(4096, '\0');
    auto const size = ::lseek(errors_, 0, SEEK_END);
    auto const from = std::max<off_t>(0, size - static_cast<off_t>(words.size()));
    auto const count = ::pread(errors_, words.data(), words.size(), from);
    words.resize(static_cast<std::size_t>(std::max<ssize_t>(0, count)));
    // mpirun prints many lines after its program's last line.
    std::string last = "no message";
    for (auto const& line : split(words, '\n')) {
        bool const tells =
            line.find("Error") != std::string::npos || line.find("No module") != std::string::npos;
        if (tells || (last == "no message" && !line.empty())) last = line;
    }
    return last;
}

std::string HelperProcess::ask(std::string const& line, double limit) {
    auto const until = Clock::now() + std::chrono::duration<double>(limit);
    std::string const question = line + '\n';
    std::string answer;
    // A pipe takes so few bytes at once. Requires: SIGPIPE is ignored (Turns does it).
    if (::write(to_, question.data(), question.size()) < 0)
        throw Error(text(name_, " has ended: ", last_words()));
    while (answer.empty() || answer.back() != '\n') {
        auto const left = std::chrono::duration<double, std::milli>(until - Clock::now()).count();
        pollfd ready{.fd = from_, .events = POLLIN, .revents = 0};
        int const event = ::poll(&ready, 1, static_cast<int>(std::max(0.0, left)));
        if (event < 0 && errno == EINTR) continue;
        if (event <= 0)
            throw Timeout(text(name_, " gave no answer to '", line, "' in ", limit, " s"));
        std::array<char, 512> buffer;
        auto const count = ::read(from_, buffer.data(), buffer.size());
        if (count <= 0) throw Error(text(name_, " has ended: ", last_words()));
        answer.append(buffer.data(), static_cast<std::size_t>(count));
    }
    answer.pop_back();
    return answer;
}

}  // namespace sinew::bench
