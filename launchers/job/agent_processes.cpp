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
#include "launchers/tree/protocol.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr std::string_view own_words = "sinew: agent on ";

// A stopped process could not handle the signal, nor clean up.
void signal_group(pid_t group, int number) {
    ::kill(-group, number);
    ::kill(-group, SIGCONT);
}

// One line for all of them. An agent that is started alone needs no name to find its part.
std::string configuration_of(std::vector<AgentStart> const& starts, std::string_view variable) {
    if (starts.size() == 1) return starts.front().configuration;
    std::map<std::string, std::string> by_host;
    for (auto const& each : starts) by_host.emplace(each.host, each.configuration);
    return shared_config_line(by_host, variable);
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
    if (backend_.host_variable().empty()) return start_next();
    if (std::exchange(gathering_, true)) return;
    loop_.post([this] {
        gathering_ = false;
        start_next();
    });
}

void AgentProcesses::arrived(int node) {
    if (on_the_way_.erase(node) != 0) start_next();
}

void AgentProcesses::start_next() {
    if (!backend_.host_variable().empty()) {
        if (gathering_ || waiting_.empty()) return;
        std::vector<AgentStart> const all(waiting_.begin(), waiting_.end());
        waiting_.clear();
        for (auto const& each : all) on_the_way_[each.node] = 0;
        return run(all);
    }
    while (!waiting_.empty() && static_cast<int>(on_the_way_.size()) < backend_.window()) {
        auto const next = std::move(waiting_.front());
        waiting_.pop_front();
        on_the_way_[next.node] = 0;
        run({next});
    }
}

void AgentProcesses::could_not_start(std::vector<AgentStart> const& starts, End const& end) {
    for (auto const& each : starts)
        loop_.post([this, node = each.node, end] { callbacks_.ended(node, end); });
}

void AgentProcesses::run(std::vector<AgentStart> const& starts) {
    auto const command =
        starts.size() == 1 ? backend_.command(starts.front()) : backend_.command_of_all(starts);
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
    // A process that hangs would not notice the end of this one.
    request.death_signal = command.death_signal;
    auto spawned = program.error == 0 ? spawn(request) : Spawned{};
    int const error = program.error != 0 ? program.error : spawned.error;
    if (error != 0)
        return could_not_start(starts, {.code = 127,
                                        .signal = 0,
                                        .awaited = true,
                                        .words = text(command.argv.front(), " cannot be executed (",
                                                      std::strerror(error), ")")});
    // The line fits into the pipe's buffer, so writing it does not block; the agent reads it later.
    auto const line = configuration_of(starts, backend_.host_variable()) + "\n";
    ::fcntl(in_end.get(), F_SETPIPE_SZ, static_cast<int>(line.size()));
    [[maybe_unused]] auto const written = ::write(in_end.get(), line.data(), line.size());

    auto& process = running_[spawned.pid];
    process.first = starts.front().node;
    process.several = starts.size() > 1;
    for (auto const& each : starts) {
        process.nodes.insert(each.node);
        on_the_way_[each.node] = spawned.pid;
    }
    process.ended = std::move(spawned.ended);
    process.words_from = std::move(words);
    process.ended_watch =
        loop_.readable(process.ended.get(), [this, pid = spawned.pid] { on_ended(pid); });
    process.words_watch =
        loop_.readable(process.words_from.get(), [this, pid = spawned.pid] { on_words(pid); });
}

// Whether an agent that it has started has not connected yet.
bool AgentProcesses::is_awaited(pid_t pid, Running const& process) const {
    return std::any_of(process.nodes.begin(), process.nodes.end(), [&](int node) {
        auto const way = on_the_way_.find(node);
        return way != on_the_way_.end() && way->second == pid;
    });
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
            if (line.empty() || backend_.is_noise(line)) continue;
            process.last = line;
            // The agent's last line says why it failed, and becomes part of the closing message.
            if (line.starts_with(own_words) && is_awaited(pid, process))
                process.held.push_back(line);
            else callbacks_.said(process.said_by(), line);
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
    // A later incarnation may have been started already.
    std::vector<int> awaited;
    for (int const node : process.nodes)
        if (auto const way = on_the_way_.find(node); way != on_the_way_.end() && way->second == pid)
            awaited.push_back(node);
    End const end{.code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
                  .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                  .awaited = !awaited.empty(),
                  .words = process.last};
    bool const told = end.awaited && (end.code != 0 || end.signal != 0);
    if (told && !process.held.empty() && process.held.back() == process.last)
        process.held.pop_back();  // it is in `words`
    for (auto const& line : process.held) callbacks_.said(process.said_by(), line);
    for (int const node : awaited) on_the_way_.erase(node);
    auto const ended = awaited.empty() ? std::vector<int>{process.first} : awaited;
    running_.erase(pid);
    for (int const node : ended) callbacks_.ended(node, end);
    start_next();
}

// A process that has started others, too, has to wait for them: absent agents end by themselves.
void AgentProcesses::give_up_on_absent() {
    waiting_.clear();
    for (auto const& [pid, process] : running_) {
        auto const present = [this, pid = pid](int node) {
            auto const way = on_the_way_.find(node);
            return way == on_the_way_.end() || way->second != pid;
        };
        if (std::none_of(process.nodes.begin(), process.nodes.end(), present))
            signal_group(pid, SIGTERM);
    }
}

void AgentProcesses::end(int node) {
    for (auto& [pid, process] : running_)
        if (process.nodes.erase(node) != 0 && process.nodes.empty()) signal_group(pid, SIGTERM);
}

void AgentProcesses::signal(int number) {
    for (auto const& [pid, process] : running_) signal_group(pid, number);
}

}  // namespace sinew::launch
