// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/agent_processes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "launchers/agent/rank_environment.hpp"
#include "launchers/common/pipe_size.hpp"
#include "launchers/program/program_kind.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr std::string_view own_words = "sinew: agent on ";

// A stopped process could not handle the signal, nor clean up.
void signal_group(pid_t group, int number) {
    ::kill(-group, number);
    ::kill(-group, SIGCONT);
}

}  // namespace

AgentProcesses::AgentProcesses(wire::Loop& loop, Backend const& backend, Callbacks callbacks)
    : loop_(loop), backend_(backend), callbacks_(std::move(callbacks)) {}

AgentProcesses::~AgentProcesses() {
    // The processes still running are those that did not end when told to.
    for (auto const& [pid, process] : running_) {
        ::kill(-pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
}

void AgentProcesses::start(AgentStart start) {
    waiting_.push_back(std::move(start));
    start_next();
}

void AgentProcesses::arrived(int node) {
    if (on_the_way_.erase(node) != 0) start_next();
}

void AgentProcesses::start_next() {
    while (!waiting_.empty() && static_cast<int>(on_the_way_.size()) < backend_.window()) {
        auto const next = std::move(waiting_.front());
        waiting_.pop_front();
        on_the_way_[next.node] = 0;
        run(next);
    }
}

void AgentProcesses::run(AgentStart const& start) {
    auto const command = backend_.command(start);
    char const* const path = ::getenv("PATH");
    auto const program = find_program(command.argv.front(), "", path != nullptr ? path : "");
    auto [in, in_end] = make_pipe();
    auto [words, words_end] = make_pipe();
    SpawnRequest request;
    request.path = program.path;
    request.argv = command.argv;
    request.env = as_list(own_variables());
    request.in = in.get();
    request.out = words_end.get();
    request.err = words_end.get();
    request.death_signal = SIGTERM;  // a process that hangs would not notice the end of this one
    auto spawned = program.error == 0 ? spawn(request) : Spawned{};
    int const error = program.error != 0 ? program.error : spawned.error;
    if (error != 0) {
        loop_.post([this, node = start.node, name = command.argv.front(), error] {
            callbacks_.ended(
                node, {.code = 127,
                       .signal = 0,
                       .awaited = true,
                       .words = text(name, " cannot be executed (", std::strerror(error), ")")});
        });
        return;
    }
    // The line fits into the pipe's buffer, so writing it does not block; the agent reads it later.
    auto const line = start.configuration + "\n";
    ::fcntl(in_end.get(), F_SETPIPE_SZ, static_cast<int>(line.size()));
    [[maybe_unused]] auto const written = ::write(in_end.get(), line.data(), line.size());

    auto& process = running_[spawned.pid];
    process.node = start.node;
    on_the_way_[start.node] = spawned.pid;
    process.ended = std::move(spawned.ended);
    process.words_from = std::move(words);
    process.ended_watch =
        loop_.readable(process.ended.get(), [this, pid = spawned.pid] { on_ended(pid); });
    process.words_watch =
        loop_.readable(process.words_from.get(), [this, pid = spawned.pid] { on_words(pid); });
}

std::size_t AgentProcesses::on_words(pid_t pid) {
    auto& process = running_.at(pid);
    std::array<char, 4096> buffer;
    ssize_t const count = ::read(process.words_from.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) return 0;
    auto const give = [&](LineAssembler::Piece piece) {
        std::istringstream lines{std::string(piece.bytes)};  // a piece has one or more lines
        for (std::string line; std::getline(lines, line);) {
            while (!line.empty() && line.back() == '\r') line.pop_back();
            if (line.empty()) continue;
            process.last = line;
            auto const way = on_the_way_.find(process.node);
            bool const on_its_way = way != on_the_way_.end() && way->second == pid;
            // The agent's last line says why it failed, and becomes part of the closing message.
            if (on_its_way && line.starts_with(own_words)) process.held.push_back(line);
            else callbacks_.said(process.node, line);
        }
    };
    if (count > 0) {
        process.lines.feed({buffer.data(), static_cast<std::size_t>(count)}, wire::Clock::now(),
                           give);
    } else {
        process.lines.finish(give);
        process.words_watch = {};
        process.words_from = {};
    }
    return count > 0 ? static_cast<std::size_t>(count) : 0;
}

void AgentProcesses::on_ended(pid_t pid) {
    auto& process = running_.at(pid);
    int status = 0;
    if (!reap(pid, status)) return;
    // Reads what the process left in the pipe, but no more than a pipe holds: another process may
    // have the other end and keep writing.
    pollfd ready{.fd = process.words_from.get(), .events = POLLIN, .revents = 0};
    for (auto left = pipe_size(ready.fd);
         left > 0 && process.words_from && ::poll(&ready, 1, 0) > 0;)
        left -= std::min(left, std::max<std::size_t>(on_words(pid), 1));
    int const node = process.node;
    // A later incarnation may have been started already.
    auto const way = on_the_way_.find(node);
    End const end{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                  .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                  .awaited = way != on_the_way_.end() && way->second == pid,
                  .words = process.last};
    bool const told = end.awaited && (end.code != 0 || end.signal != 0);
    if (told && !process.held.empty() && process.held.back() == process.last)
        process.held.pop_back();  // it is in `words`
    for (auto const& line : process.held) callbacks_.said(node, line);
    if (end.awaited) on_the_way_.erase(way);
    running_.erase(pid);
    callbacks_.ended(node, end);
    start_next();
}

void AgentProcesses::give_up_on_absent() {
    waiting_.clear();
    for (auto const& [node, pid] : on_the_way_)
        if (pid != 0) signal_group(pid, SIGTERM);
}

void AgentProcesses::end(int node) {
    for (auto const& [pid, process] : running_)
        if (process.node == node) signal_group(pid, SIGTERM);
}

void AgentProcesses::signal(int number) {
    for (auto const& [pid, process] : running_) signal_group(pid, number);
}

}  // namespace sinew::launch
