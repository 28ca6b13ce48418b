// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

class Permits;

/// The asynchronous form of Semaphore.
class AsyncSemaphore : public Handle<AsyncSemaphore, Permits> {
public:
    explicit AsyncSemaphore(Object<Permits> object) : Handle(std::move(object)) {}
    static char const* kept();

    Reply<void> acquire() const;
    Reply<bool> try_acquire() const;
    Reply<void> release(std::int64_t count = 1) const;
    Reply<std::int64_t> value() const;
};

/// A number of permits that processes share. Waiters are served in the order of waiting.
///
/// Manager::semaphore() makes a plain count that any process increases and decreases; permits of a
/// process that ends are not returned. Manager::bounded_semaphore() is for a number of resources
/// that processes use for a time: there are never more permits than at first, and those of a
/// process that ends or is disconnected are returned. (A process that releases a permit returns its
/// own; if it has none, the one that was acquired first.) Thread-safe.
class Semaphore : public Handle<Semaphore, Permits> {
public:
    explicit Semaphore(Object<Permits> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncSemaphore::kept(); }
    AsyncSemaphore async() const { return AsyncSemaphore(object()); }

    /// Takes a permit; blocks until there is one.
    void acquire() const { async().acquire().get(); }
    bool try_acquire() const { return async().try_acquire().get(); }
    /// As acquire(), for at most `limit`; returns false if there was no permit.
    bool try_acquire_for(std::chrono::nanoseconds limit) const {
        return get_within(async().acquire(), limit);
    }
    /// Returns `count` permits. Throws UsageError if `count` is less than 1, or if a bounded
    /// semaphore would have more permits than at first.
    void release(std::int64_t count = 1) const { async().release(count).get(); }
    /// The number of available permits.
    std::int64_t value() const { return async().value().get(); }
};

}  // namespace sinew::managed
