// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

class Tally;

/// The asynchronous form of Counter.
class AsyncCounter : public Handle<AsyncCounter, Tally> {
public:
    explicit AsyncCounter(Object<Tally> object) : Handle(std::move(object)) {}
    static char const* kept();

    Reply<std::int64_t> add(std::int64_t more = 1) const;
    Reply<std::int64_t> get() const;
    Reply<std::int64_t> reset(std::int64_t to = 0) const;
    void count(std::int64_t more = 1) const;
};

/// A 64-bit number that many processes increment; it wraps around. Each method is atomic.
/// Thread-safe.
class Counter : public Handle<Counter, Tally> {
public:
    explicit Counter(Object<Tally> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncCounter::kept(); }
    AsyncCounter async() const { return AsyncCounter(object()); }

    /// Adds `more` and returns the new value.
    std::int64_t add(std::int64_t more = 1) const { return async().add(more).get(); }
    std::int64_t get() const { return async().get().get(); }
    /// Sets the value and returns the previous one.
    std::int64_t reset(std::int64_t to = 0) const { return async().reset(to).get(); }
    /// Adds `more` without waiting; errors are not reported.
    void count(std::int64_t more = 1) const { async().count(more); }
};

}  // namespace sinew::managed
