// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include <sinew/detail/managed_handle.hpp>

namespace sinew::managed {

class Flag;

/// The same as an Event.
class AsyncEvent : public Handle<AsyncEvent, Flag> {
public:
    explicit AsyncEvent(Object<Flag> object) : Handle(std::move(object)) {}
    static char const* kept();

    Reply<void> set() const;
    Reply<void> clear() const;
    Reply<bool> is_set() const;
    Reply<void> wait() const;
};

/// Something that happens once, until it is cleared, and that any number of processes wait for.
class Event : public Handle<Event, Flag> {
public:
    explicit Event(Object<Flag> object) : Handle(std::move(object)) {}
    static char const* kept() { return AsyncEvent::kept(); }
    AsyncEvent async() const { return AsyncEvent(object()); }

    /// All who wait go on.
    void set() const { async().set().get(); }
    void clear() const { async().clear().get(); }
    bool is_set() const { return async().is_set().get(); }
    /// Until it is set; at once where it is.
    void wait() const { async().wait().get(); }
    /// False: not in time.
    bool wait_for(std::chrono::nanoseconds limit) const {
        return get_within(async().wait(), limit);
    }
};

}  // namespace sinew::managed
