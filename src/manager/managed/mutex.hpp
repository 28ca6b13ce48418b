// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <sinew/manager/deferred.hpp>

namespace sinew::managed {

/// A lock with its condition variables, on the manager's side: those that wait for the lock, and
/// those that wait for a notification.
class Mutex {
public:
    explicit Mutex(bool recursive) : recursive_(recursive) {}

    /// Threads are counted within their process.
    Deferred<bool> lock(std::uint64_t thread);
    bool try_lock(std::uint64_t thread);
    void unlock(std::uint64_t thread);

    std::uint64_t add_condition() { return ++conditions_; }
    /// `ticket`: identifies this wait for its caller.
    Deferred<bool> wait(std::uint64_t condition, std::uint64_t thread, std::uint64_t ticket);
    void give_up(std::uint64_t ticket);
    void notify(std::uint64_t condition, std::uint64_t most);

    void calls_withdrawn();
    void caller_lost(Caller who);

private:
    struct Holder {
        Caller process;
        std::uint64_t thread = 0;
        std::uint64_t depth = 1;  ///< how often it has locked it
    };
    struct Waiter {
        Promise<bool> promise;
        Holder self;
        bool says = true;  ///< whether to answer when it has the lock
    };
    struct Sleeper {
        Waiter waiter;
        std::uint64_t ticket = 0;
    };
    bool holds(Holder const& who) const;
    void require_holder(Holder const& who, char const* wish) const;
    void pass_on();
    void wake(Sleeper& sleeper, bool says);

    bool const recursive_;
    std::uint64_t conditions_ = 0;
    std::optional<Holder> holder_;
    std::deque<Waiter> waiters_;
    std::map<std::uint64_t, std::deque<Sleeper>> sleepers_;  ///< by condition variable
};

}  // namespace sinew::managed
