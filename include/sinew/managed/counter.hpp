// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

class Tally;

/// The same as a Counter.
class AsyncCounter : public Handle<AsyncCounter, Tally> {
public:
    explicit AsyncCounter(Object<Tally> object) : Handle(std::move(object)) {}
    static char const* kept();

    Reply<std::int64_t> add(std::int64_t more = 1) const;
    Reply<std::int64_t> get() const;
    Reply<std::int64_t> reset(std::int64_t to = 0) const;
    void count(std::int64_t more = 1) const;
};

/// A number that many processes count up.
class Counter : public Handle<Counter, Tally> {
public:
    explicit Counter(Object<Tally> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncCounter::kept(); }
    AsyncCounter async() const { return AsyncCounter(object()); }

    /// Gives what it is then.
    std::int64_t add(std::int64_t more = 1) const { return async().add(more).get(); }
    std::int64_t get() const { return async().get().get(); }
    /// Gives what it was.
    std::int64_t reset(std::int64_t to = 0) const { return async().reset(to).get(); }
    /// One way: nobody waits, or hears when the manager is gone.
    void count(std::int64_t more = 1) const { async().count(more); }
};

}  // namespace sinew::managed
