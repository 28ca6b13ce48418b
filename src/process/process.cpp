// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <sinew/detail/deadline.hpp>
#include <sinew/process.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/process/child/child_role.hpp"
#include "src/process/child/process_order.hpp"
#include "src/process/child/remote_host.hpp"

namespace sinew {
namespace {

using process::Runtime;
using Clock = std::chrono::steady_clock;

// Limits waits for an end that is due: when the program is ending, its callback may never come.
constexpr auto patience_at_end = std::chrono::seconds(10);

std::string next_name() {
    static std::atomic<int> count{0};
    return text("Process-", ++count);
}

}  // namespace

struct Process::State {
    State(ProcessOptions options_, detail::TaskEntry const& entry_)
        : options(std::move(options_)), entry(entry_), exceptions(std::uncaught_exceptions()) {}

    void start();
    void listen(std::shared_ptr<State> const& self);
    void wait_for_begin(std::unique_lock<std::mutex>& lock);
    /// Waits until `until` at most. Returns whether the process has ended.
    bool wait_for_end(Clock::time_point until);
    void require_started(char const* what) const;
    void signal(int number);
    Meta const& meta() const { return options.meta.any() ? options.meta : entry.meta; }
    bool sentinel_is_ready() const;
    void end() noexcept;

    ProcessOptions options;
    detail::TaskEntry const& entry;
    Writer state, arguments;
    int const exceptions;  ///< number in flight at construction
    bool started = false;
    pid_t pid = 0;
    int sentinel = -1;

    // Requires: runtime's guard held.
    std::unique_ptr<process::Child> child;
    std::condition_variable changed;
    bool begun = false;
    std::optional<process::ChildEnd> ended;
};

// Requires: guard held, until listen() has returned: a child on another node may end at once.
void Process::State::start() {
    for (auto const& variable : options.env)
        if (variable.find('=') == std::string::npos || variable.front() == '=')
            throw UsageError(text(options.name, " cannot have \"", variable,
                                  "\" in its environment (ProcessOptions::env has entries "
                                  "\"NAME=value\")"));
    Writer order;
    auto const id = detail::id_of(entry).value;
    auto const size = static_cast<std::uint64_t>(state.size());
    order.write(&id, sizeof id);
    order.write(&size, sizeof size);
    for (auto const part : {state.bytes(), arguments.bytes()})
        if (!part.empty()) order.write(part.data(), part.size());
    auto const bytes = order.bytes();
    child = process::start_child(options.node, {.role = "process",
                                                .name = options.name,
                                                .message = {bytes.begin(), bytes.end()},
                                                .cpus = {},
                                                .env = options.env,
                                                .folder = options.folder,
                                                .out = options.out,
                                                .meta = meta(),
                                                .watched = false});
    started = true;
    pid = child->pid();
    sentinel = child->sentinel();
}

void Process::State::listen(std::shared_ptr<State> const& self) {
    std::weak_ptr<State> const weak = self;
    child->on({.control =
                   [weak](wire::Message const& message) {
                       auto const mine = weak.lock();
                       if (!mine || message.kind != process::process_begun) return;
                       mine->begun = true;
                       mine->changed.notify_all();
                   },
               .bulk = {},
               .ended =
                   [weak](process::ChildEnd const& how) {
                       auto const mine = weak.lock();
                       if (!mine) return;
                       mine->ended = how;
                       if (mine->begun && (how.lost || !how.why.empty()))
                           log_warning(
                               text(mine->options.name, " (pid ", mine->pid, "): ", how.text()));
                       mine->changed.notify_all();
                   }});
}

void Process::State::wait_for_begin(std::unique_lock<std::mutex>& lock) {
    auto const decided = [this] { return begun || ended; };
    if (!changed.wait_until(lock, detail::deadline_after(options.start_timeout), decided)) {
        child->signal(SIGKILL);
        changed.wait_for(lock, patience_at_end, [this] { return ended.has_value(); });
        throw StartFailed(text(options.name, " (pid ", pid, ") has not begun its task within ",
                               std::chrono::duration<double>(options.start_timeout).count(),
                               " s, and was killed. Does something before sinew::init block? ",
                               "See ProcessOptions::start_timeout",
                               ended && !ended->log.empty() ? ". It wrote:\n" + ended->log : ""));
    }
    pid = child->pid();
    if (!begun)
        throw StartFailed(text(options.name, pid > 0 ? text(" (pid ", pid, ") ") : " ",
                               ended->text(), " before its task began. ",
                               ended->log.empty() ? "It wrote nothing to standard error"
                                                  : "It wrote:\n" + ended->log));
}

bool Process::State::wait_for_end(Clock::time_point until) {
    auto& runtime = Runtime::instance();
    std::unique_lock lock(runtime.guard());
    auto const over = [this] { return ended.has_value(); };
    if (runtime.ending()) until = std::min(until, detail::deadline_after(patience_at_end));
    if (until != Clock::time_point::max()) return changed.wait_until(lock, until, over);
    changed.wait(lock, over);
    return true;
}

void Process::State::require_started(char const* what) const {
    if (!started)
        throw UsageError(text(options.name, ": ", what,
                              " before start() (there is no process yet). Call start() first"));
}

void Process::State::signal(int number) {
    std::lock_guard const lock(Runtime::instance().guard());
    child->signal(number);
}

bool Process::State::sentinel_is_ready() const {
    pollfd one{sentinel, POLLIN, 0};
    return ::poll(&one, 1, 0) == 1;
}

// In a fork of the parent, does not destroy the handle: the child belongs to the parent.
void Process::State::end() noexcept {
    if (!started) return;
    if (Runtime::forked()) return static_cast<void>(child.release());
    try {
        bool const unwinding = std::uncaught_exceptions() > exceptions;
        if (!options.daemon && !unwinding) wait_for_end(Clock::time_point::max());
        if (!wait_for_end(Clock::now())) signal(SIGTERM);
        if (!wait_for_end(detail::deadline_after(options.grace))) signal(SIGKILL);
        wait_for_end(detail::deadline_after(patience_at_end));
    } catch (std::exception const&) {  // no wait is possible: the handle's destructor kills it
    }
    std::lock_guard const lock(Runtime::instance().guard());
    child = nullptr;
}

Process::Process(ProcessOptions options, detail::TaskEntry const& entry)
    : state_(std::make_shared<State>(std::move(options), entry)) {
    if (state_->options.name.empty()) state_->options.name = next_name();
}

Process::Process(Process&&) noexcept = default;

Process& Process::operator=(Process&& other) noexcept {
    if (this == &other) return *this;
    if (state_) state_->end();
    state_ = std::move(other.state_);
    return *this;
}

Process::~Process() {
    if (!state_) return;
    if (Runtime::forked()) Runtime::leave_to_parent(std::move(state_));
    else state_->end();
}

Writer& Process::state() { return state_->state; }
Writer& Process::arguments() { return state_->arguments; }

void Process::start() {
    if (state_->started)
        throw UsageError(text(state_->options.name, " was started before (as pid ", state_->pid,
                              "). Make another Process: each runs once"));
    auto& runtime = Runtime::instance();
    std::unique_lock lock(runtime.guard());
    state_->start();
    state_->listen(state_);
    state_->wait_for_begin(lock);
}

void Process::run() const {
    Reader state(state_->state.bytes()), arguments(state_->arguments.bytes());
    auto const& entry = state_->entry;
    auto const function = entry.make != nullptr ? entry.make(state) : nullptr;
    Writer dropped;
    entry.run(function.get(), arguments, dropped);
}

void Process::join() { join(std::chrono::nanoseconds::max()); }

bool Process::join(std::chrono::nanoseconds timeout) {
    state_->require_started("join");
    return state_->wait_for_end(detail::deadline_after(timeout));
}

void Process::terminate() {
    state_->require_started("terminate");
    state_->signal(SIGTERM);
}

void Process::kill() {
    state_->require_started("kill");
    state_->signal(SIGKILL);
}

bool Process::is_alive() const { return state_->started && !exitcode(); }

std::optional<int> Process::exitcode() const {
    if (!state_->started) return std::nullopt;
    // A caller that has seen the sentinel must get the exit code, so wait for it.
    auto const until =
        state_->sentinel_is_ready() ? detail::deadline_after(patience_at_end) : Clock::now();
    if (!state_->wait_for_end(until)) return std::nullopt;
    auto const& end = *state_->ended;
    return end.signal != 0 ? -end.signal : end.code;
}

pid_t Process::pid() const { return state_->pid; }
std::string const& Process::name() const { return state_->options.name; }

void Process::name(std::string name) {
    if (state_->started)
        throw UsageError(text(state_->options.name, " cannot be renamed to ", name,
                              " (it has been started). Name it before"));
    state_->options.name = std::move(name);
}

bool Process::daemon() const { return state_->options.daemon; }

int Process::sentinel() const {
    state_->require_started("sentinel");
    return state_->sentinel;
}

}  // namespace sinew
