// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

class Mutex;

/// The asynchronous form of Lock. The lock is held when the reply of lock() is ready.
class AsyncLock : public Handle<AsyncLock, Mutex> {
public:
    explicit AsyncLock(Object<Mutex> object) : Handle(std::move(object)) {}
    static char const* kept();

    /// The reply's value is true. If the reply is Cancelled, the lock is not held.
    Reply<bool> lock() const;
    Reply<bool> try_lock() const;
    Reply<void> unlock() const;
};

/// A lock for processes and their threads; works with std::lock_guard and std::unique_lock.
///
/// - A process holds the lock, and any process may unlock it, as with multiprocessing's. It is not
///   recursive: locking it twice blocks until another thread or process unlocks it.
/// - A lock of Manager::recursive_lock() is held by one thread of a process, which may lock it
///   again and is the only one that may unlock it.
/// - Waiters are served in the order of waiting.
/// - When the holding process or its connection ends, however it ends, the next waiter gets the
///   lock. The guarded data may then be half changed. A process that was disconnected learns of it
///   from its next call.
///
/// Thread-safe. All methods but unlock() throw ObjectLost if the manager is gone.
class Lock : public Handle<Lock, Mutex> {
public:
    explicit Lock(Object<Mutex> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncLock::kept(); }
    AsyncLock async() const { return AsyncLock(object()); }

    /// Blocks until the lock is held.
    void lock() const { async().lock().get(); }
    /// Returns false if the lock is held by another holder.
    bool try_lock() const { return async().try_lock().get(); }
    /// Returns false if the lock could not be taken within `limit`. The manager's answer is waited
    /// for beyond that.
    bool try_lock_for(std::chrono::nanoseconds limit) const {
        return get_within(async().lock(), limit).has_value();
    }
    template <class Clock, class Duration>
    bool try_lock_until(std::chrono::time_point<Clock, Duration> const& end) const {
        return try_lock_for(std::chrono::nanoseconds(end - Clock::now()));
    }
    /// Unlocks. Throws UsageError if the lock is not locked or, if recursive, is not held by this
    /// thread. Does not throw if the manager is gone, since the lock is not held then.
    void unlock() const {
        try {
            async().unlock().get();
        } catch (ObjectLost const&) {  // lock() will throw it
        }
    }
};

}  // namespace sinew::managed
