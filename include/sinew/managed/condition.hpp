// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include <sinew/managed/lock.hpp>

namespace sinew::managed {

/// The asynchronous form of Condition. When a wait's reply is ready, the lock is held again.
class AsyncCondition {
public:
    AsyncCondition(Lock lock, std::uint64_t number) : lock_(std::move(lock)), number_(number) {}

    /// The reply is true after a notification, and false if the wait was given up. If the reply is
    /// Cancelled, the lock is not held.
    Reply<bool> wait() const { return wait(next_ticket()); }
    Reply<void> notify(std::size_t most) const;
    AsyncLock lock() const { return lock_.async(); }

    /// A wait under a caller-chosen ticket; give_up() with that ticket ends it with false.
    Reply<bool> wait(std::uint64_t ticket) const;
    void give_up(std::uint64_t ticket) const;
    static std::uint64_t next_ticket();

    void encode_to(Writer& writer) const;
    static AsyncCondition decode_from(Reader& reader);

private:
    Lock lock_;
    std::uint64_t number_;
};

/// A condition variable for threads of several processes. A lock may have several of them. A
/// waiting thread holds the lock before and after, as with std::condition_variable_any. There are
/// no spurious wake-ups. std::lock_guard and std::unique_lock accept the condition as well as its
/// lock. Thread-safe.
class Condition {
public:
    explicit Condition(AsyncCondition condition) : condition_(std::move(condition)) {}
    AsyncCondition const& async() const { return condition_; }

    /// Locks and unlocks the condition's lock; see Lock.
    void lock() const { condition_.lock().lock().get(); }
    bool try_lock() const { return condition_.lock().try_lock().get(); }
    void unlock() const { Lock(condition_.lock().object()).unlock(); }
    /// Releases the lock, blocks until notified, and locks again. Throws UsageError if this process
    /// (for a recursive lock: this thread) does not hold the lock. With a predicate, waits until it
    /// is true.
    void wait() const { condition_.wait().get(); }
    template <class Predicate>
    void wait(Predicate holds) const {
        while (!holds()) wait();
    }
    /// As wait(), for at most `limit`; returns false if not notified by then. The lock is held
    /// again in either case.
    bool wait_for(std::chrono::nanoseconds limit) const;
    /// Waits until the predicate is true, for at most `limit`; returns its last value.
    template <class Predicate>
    bool wait_for(std::chrono::nanoseconds limit, Predicate holds) const {
        auto const begin = std::chrono::steady_clock::now();
        while (!holds())
            if (!wait_for(limit - (std::chrono::steady_clock::now() - begin))) return holds();
        return true;
    }
    /// Wakes the thread that has waited longest (notify_all: all). The lock need not be held.
    void notify_one() const { condition_.notify(1).get(); }
    void notify_all() const { condition_.notify(std::numeric_limits<std::size_t>::max()).get(); }

    void encode_to(Writer& writer) const { condition_.encode_to(writer); }
    static Condition decode_from(Reader& reader) {
        return Condition(AsyncCondition::decode_from(reader));
    }

private:
    AsyncCondition condition_;
};

}  // namespace sinew::managed
