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

/// Which thread drives the runtime's loop. One that waits for what the loop brings drives it itself,
/// so that what arrives is there without a change of threads. The runtime's own thread, the background,
/// does while nobody else wants to; after a driver has left it leaves the loop_leader vacant for a moment,
/// since the next call is likely to follow at once.
///
/// Everything with the loop's guard held.
class LoopLeader {
public:
    using Lock = std::unique_lock<std::mutex>;
    using Clock = std::chrono::steady_clock;
    /// `log`: takes what a callback has thrown.
    LoopLeader(wire::Loop& loop, std::function<void(std::exception const&)> log);
    LoopLeader(LoopLeader const&) = delete;

    /// Whether this thread drives: callbacks run on it, which must not wait.
    static bool driving();

    enum class Turn : std::uint8_t {
        at_once,  ///< drives as soon as the loop_leader is vacant: it waits for what is on its way
        some_time,  ///< only if it is when the wait begins, and until somebody waits `at_once`: may wait
                    ///< for ever, for anything
    };
    /// Until `ready`, driving where nobody else does. What makes it ready is told by `notify`; `ready`
    /// is asked with the guard held, within callbacks as well. False: the time is over.
    bool wait(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
              std::function<bool()> const& ready, Turn turn);
    /// By who will poll_once, or wait, soon: the background is not to take from it what arrives till then.
    void yield_soon();
    /// By who goes on without waiting: what has arrived meanwhile is taken now, unless somebody else
    /// drives. Releases the guard while it looks.
    void poll_once(Lock& lock);
    /// To one, or all, that wait for `changed`.
    void notify_one(std::condition_variable& changed);
    void notify_all(std::condition_variable& changed);

    /// While there is one, the background drives without a pause: for threads that wait otherwise.
    class Follower {
    public:
        explicit Follower(LoopLeader& loop_leader) : leader_(loop_leader) {
            ++leader_.steady_followers_;
            leader_.pass_on();
        }
        ~Follower() { --leader_.steady_followers_; }
        Follower(Follower const&) = delete;

    private:
        LoopLeader& leader_;
    };

    /// The background: until the loop is stopped, after `close`.
    void attend(Lock& lock);
    /// Nobody but the background begins to drive any more.
    void close();
    /// All that wait look whether they still have to.
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
    /// Of waits of each kind; made at the first.
    std::array<std::optional<SpinPolicy>, 2> policies_;
    Driver driver_ = Driver::none;
    std::condition_variable* awaited_ = nullptr;  ///< by the waiter that drives
    std::list<std::condition_variable*> next_;    ///< whose waiters want the loop_leader
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
