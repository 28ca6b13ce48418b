// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <utility>

#include <sinew/managed/lock.hpp>

namespace sinew::managed {

/// The same as a Condition; the lock is had again when a wait's reply is there.
class AsyncCondition {
public:
    AsyncCondition(Lock lock, std::uint64_t number) : lock_(std::move(lock)), number_(number) {}

    /// Whether it was notified; false: the wait was given up. Cancelled: the lock is not had.
    Reply<bool> wait() const { return wait(next_ticket()); }
    Reply<void> notify(std::size_t most) const;
    AsyncLock lock() const { return lock_.async(); }

    /// A wait with a number of its own, which can be given up: it then ends as if notified.
    Reply<bool> wait(std::uint64_t ticket) const;
    void give_up(std::uint64_t ticket) const;
    static std::uint64_t next_ticket();

    void encode_to(Writer& writer) const;
    static AsyncCondition decode_from(Reader& reader);

private:
    Lock lock_;
    std::uint64_t number_;
};

/// Waiting, with a lock, until another process changes something. Of one lock there may be several
/// conditions. Who waits holds the lock before and after, as with std::condition_variable_any; it is
/// notified once, and never without having been.
/// std::lock_guard and std::unique_lock take it as well as its lock.
class Condition {
public:
    explicit Condition(AsyncCondition condition) : condition_(std::move(condition)) {}
    AsyncCondition const& async() const { return condition_; }

    /// Of the lock it was made with.
    void lock() const { condition_.lock().lock().get(); }
    bool try_lock() const { return condition_.lock().try_lock().get(); }
    void unlock() const { Lock(condition_.lock().object()).unlock(); }
    /// Throws UsageError where this process (with a recursive lock: thread) does not hold the lock.
    void wait() const { condition_.wait().get(); }
    template <class Predicate>
    void wait(Predicate holds) const {
        while (!holds()) wait();
    }
    /// False: not notified in time. The lock is held again in any case.
    bool wait_for(std::chrono::nanoseconds limit) const;
    /// What the predicate says at the end.
    template <class Predicate>
    bool wait_for(std::chrono::nanoseconds limit, Predicate holds) const {
        auto const begin = std::chrono::steady_clock::now();
        while (!holds())
            if (!wait_for(limit - (std::chrono::steady_clock::now() - begin))) return holds();
        return true;
    }
    /// Of those that wait, the one that has waited longest. The lock need not be held.
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
