// SPDX-License-Identifier: Apache-2.0
#include "launchers/program/child_program.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <sinew/error.hpp>

#include "launchers/program/program_kind.hpp"
#include "src/base/env.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr int grace_ms = 2000;

}  // namespace

ChildProgram::ChildProgram(std::vector<std::string> const& words, Streams streams)
    : name_(words.at(0)) {
    auto const program = find_program(name_, "", env("PATH").value_or(""));
    SpawnRequest request;
    request.path = program.path;
    request.argv = words;
    for (char** at = environ; *at != nullptr; ++at) request.env.emplace_back(*at);
    request.in = streams.in;
    request.out = streams.out;
    request.err = streams.err;
    request.death_signal = SIGTERM;
    auto spawned = program.error == 0 ? spawn(request) : Spawned{.error = program.error};
    if (spawned.error != 0)
        throw SystemError(text(name_, " cannot be executed (", std::strerror(spawned.error),
                               "). Install it, and have its folder in PATH"),
                          spawned.error);
    pid_ = spawned.pid;
    ended_ = std::move(spawned.ended);
}

ChildProgram::~ChildProgram() {
    if (pid_ == 0) return;
    ::kill(-pid_, SIGTERM);
    pollfd ended{.fd = ended_.get(), .events = POLLIN, .revents = 0};
    int found = 0;
    while ((found = ::poll(&ended, 1, grace_ms)) < 0 && errno == EINTR) {}
    if (found <= 0) ::kill(-pid_, SIGKILL);
    wait();
}

int ChildProgram::wait() {
    while (pid_ != 0 && ::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {}
    pid_ = 0;
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : 128 + WTERMSIG(status_);
}

}  // namespace sinew::launch
