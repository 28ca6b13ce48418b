// SPDX-License-Identifier: Apache-2.0
#include "launchers/acquire/process_provider.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <sinew/error.hpp>
#include <utility>

#include "launchers/agent/descendants.hpp"
#include "launchers/agent/rank_environment.hpp"
#include "launchers/common/exit_codes.hpp"
#include "launchers/program/program_kind.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
constexpr wire::Clock::duration first_pause = 200ms, longest_pause = 10s;
constexpr wire::Clock::duration leaving = 3s;  ///< of an agent, before SIGTERM
constexpr wire::Clock::duration grace = 5s;    ///< between SIGTERM and SIGKILL
constexpr int most_failures = 5;
constexpr std::size_t kept_lines = 6;

std::string end_of(int status) {
    if (WIFEXITED(status)) return text("exited with code ", WEXITSTATUS(status));
    return text("was killed by signal ", WTERMSIG(status), " (", ::strsignal(WTERMSIG(status)),
                ")");
}

// Whether our standard error takes a piece now; a blocked terminal must not stop this process.
bool can_write_errors() {
    pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    return ::poll(&ready, 1, 0) != 0;
}

}  // namespace

ProcessProvider::ProcessProvider(wire::Loop& loop, AcquireRequest request, ProviderEvents events,
                                 int output_fd, Command command)
    : loop_(loop), request_(std::move(request)), events_(std::move(events)), output_fd_(output_fd),
      command_(std::move(command)) {}

ProcessProvider::~ProcessProvider() {
    for (auto const& [index, slot] : slots_) {
        if (slot.pid == 0) continue;
        ::kill(-slot.pid, SIGKILL);
        ::waitpid(slot.pid, nullptr, 0);
    }
}

std::string ProcessProvider::id_of(Slot const& slot) const {
    auto const name = text(request_.name, "-", slot.index);
    return slot.life == 0 ? name : text(name, ".", slot.life);
}

ProcessProvider::Slot* ProcessProvider::find(std::string const& node) {
    for (auto& [index, slot] : slots_)
        if (slot.pid != 0 && id_of(slot) == node) return &slot;
    return nullptr;
}

void ProcessProvider::start() {
    events_.ready();
    resize(request_.count);
}

void ProcessProvider::resize(int count) {
    if (releasing_) return;
    count_ = count;
    for (auto& [index, slot] : slots_)
        if (index >= count) end_unwanted(slot);
    for (int index = 0; index < count; ++index) {
        auto& slot = slots_[index];
        slot.index = index;
        // One that is still ending is started again when it has ended.
        slot.wanted = true;
        if (slot.given_up) slot.failures = 0;
        slot.given_up = false;
        if (slot.pid == 0 && !slot.pause) run(slot);
    }
    std::erase_if(slots_,
                  [](auto const& each) { return !each.second.wanted && each.second.pid == 0; });
}

void ProcessProvider::run(Slot& slot) {
    slot.pause = {};
    slot.life = lives_[slot.index]++;
    auto const id = id_of(slot);
    auto const command = command_(slot.index, id);
    char const* const path = ::getenv("PATH");
    auto const program = find_program(command.argv.front(), "", path != nullptr ? path : "");
    if (program.error != 0)
        return could_not_start(slot, text(command.argv.front(), " cannot be executed (",
                                          std::strerror(program.error), ")"));
    auto [in, in_end] = make_pipe();
    auto [errors, errors_end] = make_pipe();
    UniqueFd const null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    SpawnRequest request;
    request.path = program.path;
    request.argv = command.argv;
    auto variables = own_variables();
    add(variables, command.env);
    request.env = as_list(variables);
    request.folder = command.folder;
    request.in = in.get();
    request.out = output_fd_ >= 0 ? output_fd_ : null.get();
    request.err = errors_end.get();
    request.only_kept = true;
    request.death_signal = SIGTERM;
    auto spawned = spawn(request);
    if (spawned.error != 0)
        return could_not_start(slot, text(command.argv.front(), " cannot be started (",
                                          spawned.step, ": ", std::strerror(spawned.error), ")"));
    // The line fits into the pipe, so that writing it does not block.
    auto const line = request_.configuration + "\n";
    ::fcntl(in_end.get(), F_SETPIPE_SZ, static_cast<int>(line.size()));
    [[maybe_unused]] auto const written = ::write(in_end.get(), line.data(), line.size());
    slot.pid = spawned.pid;
    slot.ended = std::move(spawned.ended);
    slot.input = std::move(in_end);
    slot.errors = std::move(errors);
    slot.has_joined = false;
    slot.is_agent = command.is_agent;
    slot.outlives_agent = command.outlives_agent;
    slot.is_client = command.is_client;
    slot.tail.clear();
    slot.lines = LineAssembler();
    ::fcntl(slot.errors.get(), F_SETFL, O_NONBLOCK);
    slot.ended_watch = loop_.readable(slot.ended.get(), [this, &slot] { on_end(slot); });
    slot.errors_watch = loop_.readable(slot.errors.get(), [this, &slot] { on_errors(slot); });
    events_.state(id, "waiting", "its agent is starting");
}

void ProcessProvider::could_not_start(Slot& slot, std::string const& why) {
    events_.state(id_of(slot), "waiting", why);
    after_end(slot, why);
}

// Passes on what the process wrote to its standard error, and keeps the last lines. Returns whether
// there may be more.
bool ProcessProvider::on_errors(Slot& slot) {
    if (!can_write_errors()) {
        slot.errors_watch = {};
        slot.errors_watch = loop_.after(50ms, [this, &slot] {
            slot.errors_watch =
                loop_.readable(slot.errors.get(), [this, &slot] { on_errors(slot); });
        });
        return false;
    }
    std::array<char, 4096> buffer;
    ssize_t const count = ::read(slot.errors.get(), buffer.data(), buffer.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return false;
    auto const give = [&](LineAssembler::Piece piece) {
        std::string_view left = piece.bytes;
        while (!left.empty()) {
            auto const line = left.substr(0, left.find('\n'));
            left.remove_prefix(std::min(left.size(), line.size() + 1));
            if (!line.empty()) slot.tail.emplace_back(line.substr(0, 500));
            if (slot.tail.size() > kept_lines) slot.tail.pop_front();
        }
    };
    if (count <= 0) {
        slot.lines.finish(give);
        slot.errors_watch = {};
        return false;
    }
    std::string_view const bytes(buffer.data(), static_cast<std::size_t>(count));
    slot.lines.feed(bytes, wire::Clock::now(), give);
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    return true;
}

void ProcessProvider::on_end(Slot& slot) {
    int status = 0;
    if (!reap(slot.pid, status)) return;
    // What it wrote before, but no more than a pipe holds: another process may keep writing.
    for (int piece = 0; piece < 64 && on_errors(slot); ++piece) {}
    slot.lines.finish([&](LineAssembler::Piece piece) { slot.tail.emplace_back(piece.bytes); });
    auto how = end_of(status);
    bool const timed_out = WIFEXITED(status) && WEXITSTATUS(status) == exit_timeout;
    if (slot.is_client && timed_out) how = "reached the time limit of its job";
    if (slot.is_client && slot.has_joined && !slot.tail.empty())
        how += text(" (", slot.tail.back(), ")");
    slot.ended_watch = {};
    slot.errors_watch = {};
    slot.pause = {};
    slot.input = {};
    slot.errors = {};
    slot.pid = 0;
    if (slot.is_agent) kill_leftovers();
    // A client that was told to end and cannot reach its server ends with the signal's code.
    bool const is_gone =
        slot.is_agent ||
        (slot.outlives_agent && WIFEXITED(status) && WEXITSTATUS(status) != exit_launcher_failed &&
         !(slot.is_client && WEXITSTATUS(status) == 128 + SIGTERM));
    events_.state(id_of(slot), is_gone ? "gone" : "failed", "its agent " + how);
    after_end(slot, how);
}

// Decides what comes after a process that has ended.
void ProcessProvider::after_end(Slot& slot, std::string const& how) {
    if (releasing_ || !slot.wanted) return drop(slot);
    slot.failures = slot.has_joined ? 0 : slot.failures + 1;
    if (!request_.replace && slot.has_joined) {
        slot.given_up = true;
        return tell_if_all_failed(text("the agent of ", id_of(slot), " ", how));
    }
    if (request_.replace && slot.failures < most_failures) {
        auto const pause = std::min(first_pause * (1 << slot.failures) / 2, longest_pause);
        slot.pause = loop_.after(std::max(pause, first_pause), [this, &slot] { run(slot); });
        return;
    }
    slot.given_up = true;
    auto why =
        text("the agent of ", request_.name, "-", slot.index, " ", how, " before it had joined");
    if (slot.failures > 1) why += text(", ", slot.failures, " times in a row");
    // One line: events have no other.
    if (!slot.tail.empty()) why += "; its last lines of standard error: ";
    for (auto const& line : slot.tail) why += text(&line == &slot.tail.front() ? "" : " | ", line);
    events_.state(id_of(slot), "failed", why);
    tell_if_all_failed(why);
}

void ProcessProvider::tell_if_all_failed(std::string const& why) {
    bool const all = std::ranges::all_of(
        slots_, [](auto const& each) { return each.second.given_up || !each.second.wanted; });
    if (all) events_.failed(why);
}

// Not within a callback of the slot's own handles.
void ProcessProvider::drop(Slot& slot) {
    loop_.post([this, index = slot.index] {
        auto const found = slots_.find(index);
        if (found == slots_.end() || found->second.pid != 0) return;
        if (found->second.wanted && !releasing_) return run(found->second);
        slots_.erase(found);
        tell_if_released();
    });
}

void ProcessProvider::end_unwanted(Slot& slot) {
    slot.wanted = false;
    slot.pause = {};
    if (slot.pid == 0) return;
    slot.input = {};
    if (slot.is_client && slot.has_joined)
        slot.pause = loop_.after(leaving, [this, &slot] { terminate(slot); });
    else terminate(slot);
}

void ProcessProvider::terminate(Slot& slot) {
    if (slot.pid == 0) return;
    if (slot.is_agent || slot.outlives_agent) ::kill(-slot.pid, SIGTERM);
    ::kill(-slot.pid, SIGCONT);
    slot.pause = loop_.after(grace, [&slot] {
        if (slot.pid != 0) ::kill(-slot.pid, SIGKILL);
    });
}

void ProcessProvider::joined(std::string const& node) {
    auto* const slot = find(node);
    if (slot == nullptr) return;
    slot->has_joined = true;
    events_.state(node, "running", "");
}

void ProcessProvider::lost(std::string const& node) {
    auto* const slot = find(node);
    if (slot != nullptr) ::kill(-slot->pid, slot->outlives_agent ? SIGTERM : SIGKILL);
}

void ProcessProvider::release() {
    if (std::exchange(releasing_, true)) return;
    for (auto& [index, slot] : slots_) end_unwanted(slot);
    std::erase_if(slots_, [](auto const& each) { return each.second.pid == 0; });
    loop_.post([this] { tell_if_released(); });
}

void ProcessProvider::tell_if_released() {
    if (!releasing_ || !slots_.empty() || std::exchange(told_released_, true)) return;
    events_.released();
}

// Kills the processes that an agent has left behind: they were adopted by this process, which is a
// subreaper. Returns when they have ended, after a second at the latest.
void ProcessProvider::kill_leftovers() {
    std::vector<pid_t> ours;
    for (auto const& [index, slot] : slots_)
        if (slot.pid != 0) ours.push_back(slot.pid);
    kill_adopted(ours);
}

}  // namespace sinew::launch
