// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

class Flag;

/// The asynchronous form of Event.
class AsyncEvent : public Handle<AsyncEvent, Flag> {
public:
    explicit AsyncEvent(Object<Flag> object) : Handle(std::move(object)) {}
    static char const* kept();

    Reply<void> set() const;
    Reply<void> clear() const;
    Reply<bool> is_set() const;
    Reply<void> wait() const;
};

/// A flag that any number of processes wait for. It stays set until it is cleared. Thread-safe.
class Event : public Handle<Event, Flag> {
public:
    explicit Event(Object<Flag> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncEvent::kept(); }
    AsyncEvent async() const { return AsyncEvent(object()); }

    /// Sets the flag and releases all that wait.
    void set() const { async().set().get(); }
    void clear() const { async().clear().get(); }
    bool is_set() const { return async().is_set().get(); }
    /// Blocks until the flag is set.
    void wait() const { async().wait().get(); }
    /// As wait(), for at most `limit`; returns false if the flag was not set by then.
    bool wait_for(std::chrono::nanoseconds limit) const {
        return get_within(async().wait(), limit);
    }
};

}  // namespace sinew::managed
