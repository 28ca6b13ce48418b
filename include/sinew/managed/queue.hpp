// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include <sinew/detail/managed_handle.hpp>
#include <sinew/detail/queue_object.hpp>

namespace sinew::managed {

/// A queue in a manager, with many writers and many readers. Items leave it in the order in which
/// they arrived; calls that wait for an item or for room are served in the order of waiting.
///
/// An item that was delivered is lost with the process that got it. Use sinew::Queue if such items
/// must come back: it has acknowledgements and is faster. This queue outlives the process that made
/// it, and join() waits until its items are processed. Thread-safe.
template <class T, class Mode = Waits>
class Queue : public Handle<Queue<T, Mode>, QueueObject<T>> {
    using Kept = QueueObject<T>;
    template <class R>
    using Gives = typename Mode::template Gives<R>;

public:
    explicit Queue(Object<Kept> object) : Handle<Queue, Kept>(std::move(object)) {}
    static char const* kept() { return typeid(Kept).name(); }
    Queue<T, Replies> async() const { return Queue<T, Replies>(this->object()); }

    /// Adds an item; blocks while a bounded queue is full. Throws QueueClosed if the queue is
    /// closed, also while it waits.
    Gives<void> put(T const& item) const { return call<&Kept::put>(item); }
    /// Returns false if there is no room. Throws QueueClosed.
    Gives<bool> try_put(T const& item) const { return call<&Kept::try_put>(item); }
    /// As put(), for at most `limit`; returns false if there was no room.
    bool put_for(T const& item,
                 std::chrono::nanoseconds limit) const requires std::is_same_v<Mode, Waits> {
        return get_within(async().put(item), limit);
    }
    /// Removes and returns the first item; blocks until there is one. Throws QueueClosed if the
    /// queue is closed and empty.
    Gives<T> get() const { return call<&Kept::get>(); }
    /// Returns nothing if there is no item.
    Gives<std::optional<T>> try_get() const { return call<&Kept::try_get>(); }
    /// As get(), for at most `limit`; returns nothing if no item came, or if the queue is closed
    /// and empty.
    std::optional<T> get_for(
        std::chrono::nanoseconds limit) const requires std::is_same_v<Mode, Waits> {
        try {
            return get_within(async().get(), limit);
        } catch (QueueClosed const&) {
            return std::nullopt;
        }
    }
    /// Reports that an item which this process got has been processed; see join(). Throws
    /// UsageError if more items are done than were put.
    Gives<void> done() const { return call<&Kept::done>(); }
    /// Blocks until as many items are done as were put. Throws PeerLost, from then on always, if
    /// some never will be because a process that had got them has ended.
    Gives<void> join() const { return call<&Kept::join>(); }
    /// As join(), for at most `limit`; returns false if some items were not done by then.
    bool join_for(std::chrono::nanoseconds limit) const requires std::is_same_v<Mode, Waits> {
        return get_within(async().join(), limit);
    }
    /// The number of items that no reader has got.
    Gives<std::size_t> size() const { return call<&Kept::size>(); }
    bool empty() const requires std::is_same_v<Mode, Waits> { return size() == 0; }
    /// Closes the queue: later puts throw QueueClosed, and readers get the remaining items.
    Gives<void> close() const { return call<&Kept::close>(); }

private:
    template <auto M, class... Args>
    auto call(Args const&... arguments) const {
        return Mode::of(this->object().template async<M>(arguments...));
    }
};
template <class T>
using AsyncQueue = Queue<T, Replies>;

}  // namespace sinew::managed
