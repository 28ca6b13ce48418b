// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <csignal>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>

namespace sinew {
class SpinPolicy;
}

namespace sinew::wire {

using Clock = std::chrono::steady_clock;

/// An event loop: timers, file descriptors, signals, work posted by other threads.
///
/// All methods but `post` and `stop` are for the loop's own thread (before `run`: any one thread).
/// A registration lasts until its handle is destroyed. A handle may be destroyed within its own
/// callback, and must be destroyed before its loop. A callback that throws ends `run`, which
/// rethrows.
///
/// With a guard, any thread that holds the guard may use the loop and what is built on it (links,
/// listeners, dialling, handles): each callback runs with the guard held, and the wait for events
/// without.
class Loop {
public:
    /// A registration; the destructor ends it. Empty after having been moved from.
    class Handle {
    public:
        struct Body;
        Handle();
        explicit Handle(std::shared_ptr<Body> body);
        Handle(Handle&&) noexcept;
        Handle& operator=(Handle&&) noexcept;
        ~Handle();
        explicit operator bool() const { return body_ != nullptr; }

    private:
        std::shared_ptr<Body> body_;
    };

    Loop();
    /// The guard must outlive the loop. `run` must be called without holding it; callbacks must not
    /// release it.
    explicit Loop(std::mutex& guard);
    Loop(Loop const&) = delete;
    Loop& operator=(Loop const&) = delete;
    ~Loop();

    /// Runs until `stop`; may be called again afterwards. If nothing is ready, polls for a moment
    /// before it sleeps, as the machine's policy says (see make_spin_policy).
    void run();
    /// The same with this policy, which must outlive the call.
    void run(SpinPolicy& policy);
    /// Runs until `done`, which is called with the guard held at first and after each turn, or
    /// until the deadline, after a turn for what is ready then. `policy` decides how long to poll
    /// before sleeping. False: ended by `stop`.
    bool drive(std::function<bool()> const& done, Clock::time_point deadline, SpinPolicy& policy);
    /// One turn for what is ready, without waiting. Costs one system call if nothing is.
    bool poll_once();
    /// From any thread, and from signal-safe callbacks of `signals`.
    void stop();
    /// From any thread. In order for one caller, before what becomes ready later, and never within
    /// the call itself.
    void post(std::function<void()> work);

    [[nodiscard]] Handle after(Clock::duration delay, std::function<void()> work);
    /// Calls first after one `period`. A late loop skips the calls it has missed.
    [[nodiscard]] Handle every(Clock::duration period, std::function<void()> work);
    /// Level-triggered: calls again as long as there is something to read, or the other end has
    /// closed. The descriptor belongs to the caller, and must outlive the handle. Any descriptor
    /// that can be polled: pipe, socket, terminal, pidfd.
    [[nodiscard]] Handle readable(int fd, std::function<void()> work);
    [[nodiscard]] Handle writable(int fd, std::function<void()> work);
    /// Handles these signals instead of their default action while the handle exists. They are
    /// delivered one at a time, by number; several of one kind in a row may arrive as one.
    [[nodiscard]] Handle signals(std::initializer_list<int> numbers, std::function<void(int)> work);

    /// How late the loop is at present: the longest delay of a due timer or ready descriptor in the
    /// last second. An observer that is late itself must not call others dead.
    Clock::duration lag() const;

private:
    friend struct LoopAccess;  ///< for the sources of this folder
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew::wire
