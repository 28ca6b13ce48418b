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

/// Events of one thread: timers, file descriptors, signals, work posted by other threads.
///
/// Everything but `post` and `stop` is for the loop's own thread (before `run`: any one thread).
/// What is registered holds until its handle is destroyed; a handle may be destroyed within its own
/// callback, and is to be destroyed before its loop. A callback that throws ends `run`, which
/// rethrows.
///
/// With a guard, "the loop's own thread" reads "whoever holds the guard": each callback runs with it
/// held, the wait for events without. Then any thread that holds it may use the loop and what is
/// built on it (links, listeners, dialling, handles), beside the one that runs it.
class Loop {
public:
    /// Ends what it stands for when destroyed. Empty after having been moved from.
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
    /// It must outlive the loop. `run` is called without holding it; callbacks must not release it.
    explicit Loop(std::mutex& guard);
    Loop(Loop const&) = delete;
    Loop& operator=(Loop const&) = delete;
    ~Loop();

    /// Until `stop`; may be called again afterwards. Where nothing is ready it looks for a moment
    /// before it sleeps, as the machine's policy says (see make_spin_policy).
    void run();
    /// ... as `policy` says, which must live as long as the call.
    void run(SpinPolicy& policy);
    /// Until `done`, which is asked with the guard held: at first, and after each turn; or until the
    /// deadline, when what is ready by then has had its turn. Whether it sleeps at once while nothing
    /// is ready, `policy` tells. False: `stop` has ended it.
    bool drive(std::function<bool()> const& done, Clock::time_point deadline, SpinPolicy& policy);
    /// Instead, without a wait: what is ready has one turn. Costs one system call where nothing is.
    bool poll_once();
    /// Any thread, and signal-safe callbacks of `signals` too.
    void stop();
    /// Any thread. In order for one caller, and before what becomes ready later; never within the call
    /// itself.
    void post(std::function<void()> work);

    [[nodiscard]] Handle after(Clock::duration delay, std::function<void()> work);
    /// The first time after one `period`. A late loop skips what it missed.
    [[nodiscard]] Handle every(Clock::duration period, std::function<void()> work);
    /// Level-triggered: again and again as long as there is something to read (or the other end has
    /// closed). The descriptor stays the caller's, and must outlive the handle. Any pollable one
    /// does: pipe, socket, terminal, pidfd.
    [[nodiscard]] Handle readable(int fd, std::function<void()> work);
    [[nodiscard]] Handle writable(int fd, std::function<void()> work);
    /// Takes these signals from their default action as long as the handle lives. Delivered one at a
    /// time, by number; several of one kind in a row may arrive as one.
    [[nodiscard]] Handle signals(std::initializer_list<int> numbers, std::function<void(int)> work);

    /// By how much the loop is late at present: the longest that a due timer or ready descriptor had
    /// to wait in the last second. An observer that is late itself must not call others dead.
    Clock::duration lag() const;

private:
    friend struct LoopAccess;  ///< for the sources of this folder
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew::wire
