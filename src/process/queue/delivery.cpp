// SPDX-License-Identifier: Apache-2.0
// The queue's dealings with other processes.
#include <algorithm>
#include <utility>

#include "src/process/queue/owner.hpp"

namespace sinew::process {
namespace {

// Sent ahead to one process at most.
constexpr std::size_t bytes_ahead = std::size_t{64} << 10;

}  // namespace

void QueueOwner::message(std::shared_ptr<Peer> const& peer, Message const& message) {
    auto const number = message.head.number;
    switch (static_cast<QueueOp>(message.head.op)) {
        case QueueOp::put:
        case QueueOp::put_ask:
        case QueueOp::put_try:
            return remote_put(peer, message);
        case QueueOp::put_cancel:
            return cancel_put(peer, number);
        case QueueOp::size:
            return send(peer, QueueOp::size_is, {.number = number},
                        bytes_of(static_cast<std::uint64_t>(size())));
        case QueueOp::close:
            return close();
        case QueueOp::leave:
            return lost(peer);
        default:
            return message_of(consumer(peer, message.head.epoch), message);
    }
}

void QueueOwner::message_of(Consumer& reader, Message const& message) {
    switch (static_cast<QueueOp>(message.head.op)) {
        case QueueOp::demand:
            return demand(reader, message.bytes);
        case QueueOp::give_back:
            return take_back(reader, message.bytes);
        case QueueOp::answer:
            reader.recalling = false;
            reader.answered = std::min(message.head.number, reader.delivered);
            return take_back(reader, message.bytes);
        case QueueOp::try_take:
            return try_take(reader, message.head.number);
        default:
            return;
    }
}

QueueOwner::Consumer& QueueOwner::consumer(std::shared_ptr<Peer> const& peer, std::uint32_t epoch) {
    auto const known = consumers_.find(peer.get());
    if (known != consumers_.end() && known->second->epoch != epoch) lost(peer);
    auto& found = consumers_[peer.get()];
    if (!found) {
        found = std::make_unique<Consumer>();
        found->peer = peer;
        found->epoch = epoch;
        found->claim.consumer = found.get();
    }
    return *found;
}

void QueueOwner::remote_put(std::shared_ptr<Peer> const& peer, Message const& message) {
    auto const op = static_cast<QueueOp>(message.head.op);
    if (peer.get() != last_writer_) {
        last_writer_ = peer.get();
        if (writers_.insert(peer).second && closed_) send(peer, QueueOp::closed);
    }
    auto item =
        message.keeper ? QueueItem{message.keeper, message.bytes} : arena_.store(message.bytes);
    if (op == QueueOp::put) {  // on its way before its writer heard of a close
        enqueue(std::move(item));
        return dispatch();
    }
    if (closed_)
        return send(peer, QueueOp::put_done, {.number = message.head.number},
                    bytes_of(std::uint8_t{2}));
    if (op == QueueOp::put_try && (full() || !pending_.empty()))
        return send(peer, QueueOp::put_done, {.number = message.head.number},
                    bytes_of(std::uint8_t{0}));
    auto pending = std::make_unique<Pending>();
    pending->writer = peer;
    pending->call = message.head.number;
    pending->item = std::move(item);
    pending_.push_back(pending.release());
    dispatch();
}

void QueueOwner::cancel_put(std::shared_ptr<Peer> const& peer, std::uint64_t call) {
    auto const found = std::find_if(pending_.begin(), pending_.end(), [&](Pending const* each) {
        return each->writer == peer && each->call == call;
    });
    if (found == pending_.end()) return;  // its answer is on its way
    std::unique_ptr<Pending> const theirs(*found);
    pending_.erase(found);
    send(peer, QueueOp::put_done, {.number = call}, bytes_of(std::uint8_t{0}));
}

void QueueOwner::deliver(Consumer& reader) {
    auto const place = ++reader.delivered;
    auto& sent = reader.sent.emplace_back();
    sent.item = std::move(items_.front());
    items_.pop_front();
    sent.wanted = place <= reader.demand.need;
    reader.bytes += sent.item.bytes.size();
    ++unacknowledged_;
    send(reader.peer, QueueOp::item, {.epoch = reader.epoch, .number = place}, sent.item.bytes,
         sent.item.keeper);
}

void QueueOwner::unplace(Consumer& reader) {
    if (reader.place == Consumer::Place::waiting) std::erase(waiting_, &reader.claim);
    if (reader.place == Consumer::Place::eager) std::erase(eager_, &reader);
    reader.place = Consumer::Place::none;
}

void QueueOwner::place(Consumer& reader) {
    auto const wanted = reader.delivered < reader.demand.need ? Consumer::Place::waiting
                        : reader.delivered < reader.demand.limit && reader.bytes < bytes_ahead
                            ? Consumer::Place::eager
                            : Consumer::Place::none;
    if (wanted == reader.place) return;
    unplace(reader);
    reader.place = wanted;
    if (wanted == Consumer::Place::waiting) waiting_.push_back(&reader.claim);
    if (wanted == Consumer::Place::eager) eager_.push_back(&reader);
}

// Those of the numbers under which something was sent that may still be unfinished.
std::vector<std::uint64_t> QueueOwner::places(Consumer const& reader,
                                              std::span<std::byte const> bytes) {
    std::vector<std::uint64_t> all;
    for (auto const& range : take_ranges(bytes)) {
        auto const last = std::min(range.last, reader.delivered);
        auto place = std::max(range.first, reader.delivered - reader.sent.size() + 1);
        for (; place <= last; ++place) all.push_back(place);
    }
    return all;
}

// Done with the item at this place; what it was, where it was sent there and not done with.
std::optional<QueueItem> QueueOwner::finish(Consumer& reader, std::uint64_t place) {
    auto const first = reader.delivered - reader.sent.size() + 1;
    if (place < first || place > reader.delivered) return std::nullopt;
    auto& sent = reader.sent[place - first];
    if (std::exchange(sent.done, true)) return std::nullopt;
    --unacknowledged_;
    reader.bytes -= sent.item.bytes.size();
    auto item = std::exchange(sent.item, {});
    while (!reader.sent.empty() && reader.sent.front().done) reader.sent.pop_front();
    return item;
}

void QueueOwner::demand(Consumer& reader, std::span<std::byte const> bytes) {
    auto const wanted = take_value<QueueDemand>(bytes);
    if (!wanted) return;
    for (auto const place : places(reader, bytes)) finish(reader, place);
    reader.demand = *wanted;
    // What nobody waits for there any more may be called back.
    auto number = reader.delivered;
    for (auto each = reader.sent.rbegin(); each != reader.sent.rend(); ++each, --number) {
        if (number <= wanted->need) break;
        each->wanted = false;
    }
    place(reader);
    dispatch();
}

void QueueOwner::try_take(Consumer& reader, std::uint64_t call) {
    std::uint64_t place = 0;
    if (!items_.empty()) {
        deliver(reader);
        reader.sent.back().wanted = true;
        place = reader.delivered;
    }
    send(reader.peer, QueueOp::tried, {.number = call}, bytes_of(place));
    dispatch();
}

void QueueOwner::take_back(Consumer& reader, std::span<std::byte const> bytes) {
    std::vector<QueueItem> items;
    for (auto const place : places(reader, bytes))
        if (auto item = finish(reader, place)) items.push_back(std::move(*item));
    items_.insert(items_.begin(), std::make_move_iterator(items.begin()),
                  std::make_move_iterator(items.end()));
    place(reader);
    dispatch();
}

void QueueOwner::lost(std::shared_ptr<Peer> const& peer) {
    writers_.erase(peer);
    if (last_writer_ == peer.get()) last_writer_ = nullptr;
    std::erase_if(pending_, [&](Pending* each) {
        if (each->writer != peer) return false;
        delete each;
        return true;
    });
    if (auto const found = consumers_.extract(peer.get())) {
        auto& reader = *found.mapped();
        unplace(reader);
        for (auto each = reader.sent.rbegin(); each != reader.sent.rend(); ++each) {
            if (each->done) continue;
            --unacknowledged_;
            items_.push_front(std::move(each->item));
        }
    }
    dispatch();
}

}  // namespace sinew::process
