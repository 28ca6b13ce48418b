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

/// A queue with many writers and many readers, in any process of the session, on any host.
///
/// The queue lives in the process that made it and ends with that process. (If a handle was sent to
/// another process, it ends earlier when it has been closed and emptied and the last handle in its
/// own process is gone.) Objects of this class are handles: copies refer to the same queue and can
/// be sent in tasks, processes, other queues and members of classes. Thread-safe.
///
/// - Readers that wait are served first, in the order of waiting. Items are sent ahead to a reader
///   that reads quickly (at most 256 items, 64 KiB and 1 ms of its work); they are recalled when
///   another reader has to wait.
/// - Items leave the queue in the order in which they arrived, those of one writer in the order of
///   its puts; a single reader gets them in this order. Items that come back are at the front.
/// - get() acknowledges the item when it returns. Items in transit to a reader's process, reserved
///   there, or waiting there for a get() come back when that process dies or its connection is
///   lost, never by a timeout. An acknowledgement may be delayed by up to 1 ms, so an item taken
///   just before a process was killed may come back. Use reserve() if that must not happen: ack()
///   is sent at once.
/// - Items may have any size. In an unbounded queue, put() returns when the item is on its way, and
///   blocks only while the link has too much to send. In a bounded queue it returns when the item
///   has a place; items that were taken but not acknowledged keep theirs.
/// - When the process of the queue is gone, every call throws PeerLost, also calls that wait.
template <class T>
class Queue {
public:
    /// Makes a queue of at most `bound` items; 0: limited only by memory.
    explicit Queue(std::size_t bound = 0) : end_(detail::make_queue(bound)) {}

    /// Adds an item. Blocks while a bounded queue is full. Throws QueueClosed, PeerLost.
    void put(T const& value) { put_until(value, never); }
    /// As put(), for at most `timeout`; returns false if there was no room. Throws QueueClosed and
    /// PeerLost, and Timeout if the process of a bounded queue does not answer for some seconds
    /// more because it is stopped; it is then unknown whether the item was added.
    [[nodiscard]] bool put_for(T const& value, std::chrono::nanoseconds timeout) {
        return put_until(value, detail::deadline_after(timeout));
    }
    /// As put_for() with a timeout of 0.
    [[nodiscard]] bool try_put(T const& value) { return put_until(value, at_once); }

    /// Removes and returns the first item; blocks until there is one. Throws QueueClosed if the
    /// queue is closed and empty, PeerLost, DecodeError.
    T get() {
        auto const item = end_->take(never, true);
        if (!item) end_->refuse_closed();
        return decoded(*item);
    }
    /// As get(), for at most `timeout`; returns nothing if no item came, or if the queue is closed
    /// and empty.
    std::optional<T> get_for(std::chrono::nanoseconds timeout) {
        return get_until(detail::deadline_after(timeout));
    }
    /// As get_for() with a timeout of 0. Outside the queue's process this takes a round trip; it
    /// also returns nothing if that process does not answer for some seconds because it is stopped.
    std::optional<T> try_get() { return get_until(at_once); }

    /// As get(), but the caller acknowledges the item with Reserved::ack().
    Reserved<T> reserve() {
        auto reserved = reserve_until(never);
        if (!reserved) end_->refuse_closed();
        return std::move(*reserved);
    }
    std::optional<Reserved<T>> reserve_for(std::chrono::nanoseconds timeout) {
        return reserve_until(detail::deadline_after(timeout));
    }

    /// The number of items that were put and not acknowledged, including those that were taken.
    std::size_t size() { return end_->size(); }
    bool empty() { return size() == 0; }
    /// Closes the queue. Later puts throw QueueClosed, in other processes as soon as they are
    /// informed. Readers get the remaining items.
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
            end_->acknowledge(item->ticket);  // it cannot be decoded by any reader
            throw;
        }
    }
    std::shared_ptr<detail::QueueEnd> end_;
};

}  // namespace sinew
