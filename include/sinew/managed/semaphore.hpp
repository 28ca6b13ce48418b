// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

class Permits;

/// The same as a Semaphore.
class AsyncSemaphore : public Handle<AsyncSemaphore, Permits> {
public:
    explicit AsyncSemaphore(Object<Permits> object) : Handle(std::move(object)) {}
    static char const* kept();

    Reply<void> acquire() const;
    Reply<bool> try_acquire() const;
    Reply<void> release(std::int64_t count = 1) const;
    Reply<std::int64_t> value() const;
};

/// A number of permits among processes. Who waits for one is served in the order of waiting.
///
/// One of Manager::semaphore() is a count, which anybody raises and lowers: what a process has acquired
/// is not given back when it ends. One of Manager::bounded_semaphore() is for a number of things that
/// processes have for a time: there are never more permits than at first, and those of a process that
/// ends, however, or is cut off, are given back. (A permit that another process releases is its own,
/// if it has one, else that which was acquired first.)
class Semaphore : public Handle<Semaphore, Permits> {
public:
    explicit Semaphore(Object<Permits> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncSemaphore::kept(); }
    AsyncSemaphore async() const { return AsyncSemaphore(object()); }

    void acquire() const { async().acquire().get(); }
    bool try_acquire() const { return async().try_acquire().get(); }
    /// False: none was to be had in time.
    bool try_acquire_for(std::chrono::nanoseconds limit) const {
        return get_within(async().acquire(), limit);
    }
    /// Throws UsageError: a bounded one would have more than at first.
    void release(std::int64_t count = 1) const { async().release(count).get(); }
    /// Those to be had.
    std::int64_t value() const { return async().value().get(); }
};

}  // namespace sinew::managed
