// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include <sinew/detail/managed_handle.hpp>
#include <sinew/detail/queue_object.hpp>

namespace sinew::managed {

/// A queue in a manager, with many writers and many readers. Items leave it in the order they came;
/// who waits for one, or for room, is served in the order of waiting.
///
/// An item that was given to a process is that process's: it goes with it when that is killed. Where
/// items must come back then, sinew::Queue has acknowledgements (and is faster; this one goes on when
/// the process that made it has ended, and can be waited for to be worked off).
template <class T, class Mode = Waits>
class Queue : public Handle<Queue<T, Mode>, QueueObject<T>> {
    using Kept = QueueObject<T>;
    template <class R>
    using Gives = typename Mode::template Gives<R>;

public:
    explicit Queue(Object<Kept> object) : Handle<Queue, Kept>(std::move(object)) {}
    static char const* kept() { return typeid(Kept).name(); }
    Queue<T, Replies> async() const { return Queue<T, Replies>(this->object()); }

    /// Waits for room where there is a bound. Throws QueueClosed, also when it is closed meanwhile.
    Gives<void> put(T const& item) const { return call<&Kept::put>(item); }
    Gives<bool> try_put(T const& item) const { return call<&Kept::try_put>(item); }
    /// False: there was no room in time.
    bool put_for(T const& item,
                 std::chrono::nanoseconds limit) const requires std::is_same_v<Mode, Waits> {
        return get_within(async().put(item), limit);
    }
    /// Waits for an item. Throws QueueClosed when there are none, and will be none.
    Gives<T> get() const { return call<&Kept::get>(); }
    Gives<std::optional<T>> try_get() const { return call<&Kept::try_get>(); }
    /// Nothing: none came in time, or the queue is closed and empty.
    std::optional<T> get_for(
        std::chrono::nanoseconds limit) const requires std::is_same_v<Mode, Waits> {
        try {
            return get_within(async().get(), limit);
        } catch (QueueClosed const&) {
            return std::nullopt;
        }
    }
    /// Says of an item that was got that all is done that it meant: for join().
    Gives<void> done() const { return call<&Kept::done>(); }
    /// Until as many items are done as were put. Throws PeerLost: some never will be, as processes have
    /// ended that had got them (from then on, always).
    Gives<void> join() const { return call<&Kept::join>(); }
    bool join_for(std::chrono::nanoseconds limit) const requires std::is_same_v<Mode, Waits> {
        return get_within(async().join(), limit);
    }
    Gives<std::size_t> size() const { return call<&Kept::size>(); }
    bool empty() const requires std::is_same_v<Mode, Waits> { return size() == 0; }
    /// No more puts. Readers get what is left.
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
