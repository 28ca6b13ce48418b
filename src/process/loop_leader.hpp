// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>

#include "src/base/waiting/spin_policy.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::process {

/// Decides which thread drives the runtime's event loop (the Leader/Followers pattern). A thread
/// that waits for an event drives the loop itself, so that the event reaches it without a thread
/// switch; the other waiting threads follow. The runtime's own thread, the background thread,
/// drives while no other thread waits. After a thread has stopped driving, the background thread
/// leaves the lead vacant for a moment, since the next call is likely to follow at once.
///
/// Requires: loop's guard held.
class LoopLeader {
public:
    using Lock = std::unique_lock<std::mutex>;
    using Clock = std::chrono::steady_clock;
    /// `log` is called with the exceptions that callbacks throw.
    LoopLeader(wire::Loop& loop, std::function<void(std::exception const&)> log);
    LoopLeader(LoopLeader const&) = delete;

    /// Whether this thread drives the loop. If so, callbacks run on it, and it must not wait.
    static bool driving();

    enum class Turn : std::uint8_t {
        /// Drives as soon as the lead is vacant: the event is on its way.
        at_once,
        /// Drives only if the lead is vacant when the wait begins, and until another thread waits
        /// `at_once`: the wait may be long.
        some_time,
    };
    /// Returns true when `ready()` is true, and false at the deadline. Drives the loop while no
    /// other thread does. Code that makes `ready` true must call `notify_one` or `notify_all` with
    /// `changed`. `ready` is called with the guard held, also within callbacks.
    bool wait(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
              std::function<bool()> const& ready, Turn turn);
    /// Called by a thread that will poll or wait soon: the background thread gives up the lead.
    void yield_soon();
    /// Processes the events that have arrived, unless another thread drives. Unlocks meanwhile.
    void poll_once(Lock& lock);
    /// As `wait`, for a condition that any call of `notify_all` may make true.
    bool wait_for_any(Lock& lock, Clock::time_point deadline, std::function<bool()> const& ready);
    /// Wakes one waiter, or all waiters, of `changed`.
    void notify_one(std::condition_variable& changed);
    void notify_all(std::condition_variable& changed);

    /// While one exists, the background thread keeps driving, for threads that wait by other means.
    class Follower {
    public:
        explicit Follower(LoopLeader& leader) : leader_(leader) {
            ++leader_.steady_followers_;
            leader_.pass_on();
        }
        ~Follower() { --leader_.steady_followers_; }
        Follower(Follower const&) = delete;

    private:
        LoopLeader& leader_;
    };

    /// The background thread's work: returns when the loop is stopped, after `close`.
    void attend(Lock& lock);
    /// From now on only the background thread begins to drive.
    void close();
    /// Makes all waiters evaluate their condition.
    void wake_all();

private:
    enum class Driver : std::uint8_t { none, waiter, background };
    template <class Drive>
    void drive(Lock& lock, Driver who, Drive const& drive);
    SpinPolicy& policy(Turn turn);
    Clock::duration vacancy() const;
    void follow(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
                Turn turn);
    void pass_on();
    void notified(std::condition_variable& changed);
    bool background_is_wanted() const { return closed_ || stopped_ || steady_followers_ > 0; }

    wire::Loop& loop_;
    std::function<void(std::exception const&)> const log_;
    /// By Turn; each is made at the first wait of its kind.
    std::array<std::optional<SpinPolicy>, 2> policies_;
    Driver driver_ = Driver::none;
    std::condition_variable* awaited_ = nullptr;  ///< by the waiter that drives
    std::list<std::condition_variable*> next_;    ///< whose waiters want the lead
    std::condition_variable any_;                 ///< notified by each `notify_all`
    std::size_t any_waiters_ = 0;
    std::size_t followers_ = 0, steady_followers_ = 0;
    std::condition_variable background_called_;
    bool background_sleeps_ = false;  ///< until it is called
    bool background_leaves_ = false;
    bool closed_ = false, stopped_ = false;
    std::uint64_t turns_given_up_ = 0;
    int soon_in_a_row_ = 0;  ///< drivers that came soon after the one before
    Clock::time_point vacant_since_{};
};

}  // namespace sinew::process
