// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

class Mutex;

/// The same as a Lock, and the lock is had when the reply is there.
class AsyncLock : public Handle<AsyncLock, Mutex> {
public:
    explicit AsyncLock(Object<Mutex> object) : Handle(std::move(object)) {}
    static char const* kept();

    /// Its value is true. Cancelled: it is not had.
    Reply<bool> lock() const;
    Reply<bool> try_lock() const;
    Reply<void> unlock() const;
};

/// A lock among processes, and among their threads; for std::lock_guard, std::unique_lock.
///
/// - A process holds it. Any process may unlock it, as with multiprocessing's. It is not recursive:
///   who locks it twice waits for somebody else to unlock it.
/// - One of Manager::recursive_lock() is held by a thread of a process, which may lock it again, and
///   alone can unlock it.
/// - Who waits is served in the order of waiting.
/// - When the process that holds it ends, however, or the connection to it, the next one has it: the
///   data that it guards may be half changed, and a process that was cut off hears of it with its next
///   call.
class Lock : public Handle<Lock, Mutex> {
public:
    explicit Lock(Object<Mutex> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncLock::kept(); }
    AsyncLock async() const { return AsyncLock(object()); }

    void lock() const { async().lock().get(); }
    bool try_lock() const { return async().try_lock().get(); }
    /// The limit is for others to unlock it; the manager's answer is waited for.
    bool try_lock_for(std::chrono::nanoseconds limit) const {
        return get_within(async().lock(), limit).has_value();
    }
    template <class Clock, class Duration>
    bool try_lock_until(std::chrono::time_point<Clock, Duration> const& end) const {
        return try_lock_for(std::chrono::nanoseconds(end - Clock::now()));
    }
    /// Throws UsageError: it is not locked, or (recursive) not by this thread. No error where the
    /// manager is gone: neither is the lock held then.
    void unlock() const {
        try {
            async().unlock().get();
        } catch (ObjectLost const&) {  // lock() will say so
        }
    }
};

}  // namespace sinew::managed
