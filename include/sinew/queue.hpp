// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <utility>

#include <sinew/detail/queue_end.hpp>
#include <sinew/reserved.hpp>
#include <sinew/task/encoding.hpp>

namespace sinew {

/// A queue with many writers and many readers, in any process of the family, on any host.
///
/// It lives in the process that made it and ends with it (one whose handle has travelled also when
/// the last handle here is gone and it was closed and emptied). Objects of this class are handles:
/// copies mean the same queue, and travel into tasks, processes, other queues, members of classes.
/// Threads may share one.
///
/// - A reader that waits is served first, in the order of waiting. A reader that reads quickly is
///   sent items ahead, at most 256, 64 KiB, and 1 ms of its work; they are called back when another
///   waits for want of them.
/// - Items leave the queue in the order they came, those of one writer in the order of its puts; where
///   there is one reader it gets them in this order. Items that come back stand first.
/// - get() acknowledges when it returns. What was on its way to a reader's process, reserved there, or
///   waiting there for a get(), comes back when that process dies (when the connection is lost: never
///   by a timer). An acknowledgement may travel up to 1 ms later than get() returned: an item taken
///   just before a process was killed may come back. Who cannot have that, reserves: ack() is at once.
/// - Any size of item. In an unbounded queue put() returns when the item is on its way, and waits only
///   for a link that has too much to send; in a bounded one, when it has its place: items taken, but
///   not acknowledged, still have theirs.
/// - When the process it lives in is gone, every call throws PeerLost, also those that wait.
template <class T>
class Queue {
public:
    /// `bound`: how many items it takes; 0: any number, as far as memory goes.
    explicit Queue(std::size_t bound = 0) : end_(detail::make_queue(bound)) {}

    /// Throws QueueClosed, PeerLost.
    void put(T const& value) { put_until(value, never); }
    /// False: there was no room in time. Throws QueueClosed, PeerLost; and Timeout where the process that
    /// a bounded queue lives in gives no answer for some seconds more (it is stopped): whether the item
    /// will be in it is not known then.
    [[nodiscard]] bool put_for(T const& value, std::chrono::nanoseconds timeout) {
        return put_until(value, detail::deadline_after(timeout));
    }
    [[nodiscard]] bool try_put(T const& value) { return put_until(value, at_once); }

    /// Throws QueueClosed when it is closed and empty, PeerLost.
    T get() {
        auto const item = end_->take(never, true);
        if (!item) end_->refuse_closed();
        return decoded(*item);
    }
    /// Nothing: none came in time, or the queue is closed and empty.
    std::optional<T> get_for(std::chrono::nanoseconds timeout) {
        return get_until(detail::deadline_after(timeout));
    }
    /// From elsewhere than the queue's own process this takes a round trip; nothing, too, where that
    /// process gives no answer for some seconds (it is stopped).
    std::optional<T> try_get() { return get_until(at_once); }

    /// As get(), but the item is to be acknowledged.
    Reserved<T> reserve() {
        auto reserved = reserve_until(never);
        if (!reserved) end_->refuse_closed();
        return std::move(*reserved);
    }
    std::optional<Reserved<T>> reserve_for(std::chrono::nanoseconds timeout) {
        return reserve_until(detail::deadline_after(timeout));
    }

    /// Items that no get() or reserve() has returned yet, and those taken and not acknowledged.
    std::size_t size() { return end_->size(); }
    bool empty() { return size() == 0; }
    /// No more puts: they throw QueueClosed from when the writer's process hears of it. Readers get
    /// what is left.
    void close() { end_->close(); }

    void encode_to(Writer& writer) const { end_->encode_to(writer); }
    static Queue decode_from(Reader& reader) { return Queue(detail::find_queue(reader)); }

private:
    using Deadline = detail::Deadline;
    static constexpr Deadline never = Deadline::max(), at_once = Deadline::min();

    explicit Queue(std::shared_ptr<detail::QueueEnd> end) : end_(std::move(end)) {}
    bool put_until(T const& value, Deadline deadline) {
        Writer writer;
        encode(writer, value);
        return end_->put(std::move(writer), deadline);
    }
    static T decoded(detail::QueueItem const& item) {
        Reader reader(item.bytes);
        return decode<T>(reader);
    }
    std::optional<T> get_until(Deadline deadline) {
        auto const item = end_->take(deadline, true);
        if (!item) return std::nullopt;
        return decoded(*item);
    }
    std::optional<Reserved<T>> reserve_until(Deadline deadline) {
        auto const item = end_->take(deadline, false);
        if (!item) return std::nullopt;
        try {
            return Reserved<T>(decoded(*item), end_, item->ticket);
        } catch (...) {
            end_->acknowledge(item->ticket);  // nobody could read it
            throw;
        }
    }
    std::shared_ptr<detail::QueueEnd> end_;
};

}  // namespace sinew
