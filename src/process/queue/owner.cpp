// SPDX-License-Identifier: Apache-2.0
#include "src/process/queue/owner.hpp"

#include <algorithm>
#include <utility>

#include "src/base/scope_exit.hpp"

namespace sinew::process {

QueueItem QueueOwner::keep(Writer writer) {
    auto const kept = std::make_shared<Writer>(std::move(writer));
    return {kept, kept->bytes()};
}

bool QueueOwner::put(Lock& lock, Writer writer, Clock::time_point deadline) {
    if (closed_) return false;
    auto item =
        writer.size() > small_message ? keep(std::move(writer)) : arena_.store(writer.bytes());
    if (!full() && pending_.empty()) {
        enqueue(std::move(item));
        dispatch();
        return true;
    }
    if (deadline <= Clock::now()) return false;
    Pending pending;
    pending.item = std::move(item);
    pending_.push_back(&pending);
    ScopeExit const over([&] { std::erase(pending_, &pending); });
    messenger_.wait(
        lock, pending.changed, deadline, [&] { return pending.done || closed_; },
        LoopLeader::Turn::some_time);
    return pending.done;
}

std::optional<QueueItem> QueueOwner::take(Lock& lock, Clock::time_point deadline,
                                          bool acknowledge) {
    Claim claim;
    if (!items_.empty() && waiting_.empty()) {
        claim.item = std::move(items_.front());
        items_.pop_front();
    } else {
        waiting_.push_back(&claim);
        ScopeExit const over([&] { std::erase(waiting_, &claim); });
        dispatch();
        messenger_.wait(
            lock, claim.changed, deadline, [&] { return claim.item || claim.drained; },
            LoopLeader::Turn::some_time);
        if (!claim.item) return std::nullopt;
    }
    if (!acknowledge) {
        claim.item->ticket = ++tickets_;
        reserved_.emplace(tickets_, *claim.item);
        ++unacknowledged_;
    }
    admit();
    return std::move(claim.item);
}

void QueueOwner::acknowledge(std::uint64_t ticket) {
    if (reserved_.erase(ticket) == 0) return;
    --unacknowledged_;
    admit();
    dispatch();
}

void QueueOwner::give_back(std::uint64_t ticket) {
    auto const found = reserved_.extract(ticket);
    if (!found) return;
    --unacknowledged_;
    items_.push_front(std::move(found.mapped()));
    dispatch();
}

// Accepts puts that wait for room, in their order.
void QueueOwner::admit() {
    while (!pending_.empty() && !full()) {
        auto* const first = pending_.front();
        pending_.pop_front();
        enqueue(std::move(first->item));
        first->done = true;
        messenger_.notify_all(first->changed);
        if (!first->writer) continue;
        std::unique_ptr<Pending> const theirs(first);
        send(theirs->writer, QueueOp::put_done, {.number = theirs->call},
             bytes_of(std::uint8_t{1}));
    }
}

void QueueOwner::enqueue(QueueItem item) { items_.push_back(std::move(item)); }

void QueueOwner::dispatch() {
    for (admit(); !items_.empty(); admit()) {
        if (!waiting_.empty()) {
            serve_first();
        } else if (!eager_.empty()) {
            auto& reader = *eager_.front();
            unplace(reader);
            deliver(reader);
            place(reader);
        } else {
            break;
        }
    }
    if (!waiting_.empty()) call_back();
}

void QueueOwner::serve_first() {
    auto* const claim = waiting_.front();
    if (claim->consumer != nullptr) {
        auto& reader = *claim->consumer;
        unplace(reader);
        deliver(reader);
        place(reader);
        return;
    }
    waiting_.pop_front();
    claim->item = std::move(items_.front());
    items_.pop_front();
    messenger_.notify_all(claim->changed);
}

// A reader waits and there is no item: recalls items that lie unused in other processes. If there
// are none and the queue is closed, ends all waits.
void QueueOwner::call_back() {
    if (recall() || !closed_) return;
    for (auto* const claim : std::exchange(waiting_, {})) {
        if (claim->consumer == nullptr) {
            claim->drained = true;
            messenger_.notify_all(claim->changed);
            continue;
        }
        auto& reader = *claim->consumer;
        reader.place = Consumer::Place::none;
        reader.demand = {reader.delivered, reader.delivered};
        send(reader.peer, QueueOp::drained, {.epoch = reader.epoch});
    }
}

bool QueueOwner::recall() {
    bool asked = false;
    for (auto const& [peer, reader] : consumers_) {
        if (reader->place == Consumer::Place::waiting) continue;
        std::uint64_t place = reader->delivered - reader->sent.size();
        bool const about = std::any_of(reader->sent.begin(), reader->sent.end(),
                                       [&place, answered = reader->answered](Sent const& each) {
                                           return ++place > answered && !each.done && !each.wanted;
                                       });
        if (!about) continue;
        asked = true;
        if (!std::exchange(reader->recalling, true))
            send(reader->peer, QueueOp::recall, {.epoch = reader->epoch});
    }
    return asked;
}

void QueueOwner::close() {
    if (std::exchange(closed_, true)) return;
    for (auto* const pending : std::exchange(pending_, {})) {
        messenger_.notify_all(pending->changed);
        if (!pending->writer) continue;
        std::unique_ptr<Pending> const theirs(pending);
        send(theirs->writer, QueueOp::put_done, {.number = theirs->call},
             bytes_of(std::uint8_t{2}));
    }
    auto told = writers_;
    for (auto const& [peer, reader] : consumers_) told.insert(reader->peer);
    for (auto const& peer : told) send(peer, QueueOp::closed);
    if (items_.empty() && !waiting_.empty()) call_back();
}

void QueueOwner::ended() {
    for (auto* const claim : waiting_) messenger_.notify_all(claim->changed);
    for (auto* const pending : pending_) messenger_.notify_all(pending->changed);
}

void QueueOwner::send(std::shared_ptr<Peer> const& peer, QueueOp op, MessageHeader head,
                      std::span<std::byte const> bytes, std::shared_ptr<void const> keeper) {
    head.service = ServiceId::queue;
    head.op = static_cast<std::uint16_t>(op);
    head.id = id_;
    messenger_.send(peer, head, bytes, std::move(keeper));
}

// ---- readers and writers in other processes -----------------------------------------------------

namespace {

// Maximum sent ahead to one process.
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
    if (op == QueueOp::put) {  // accepted even if closed: its writer did not know
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

// Returns those of the encoded positions whose items may be unfinished.
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

// Marks the item at this position as done. Returns nothing if it was not sent, or done before.
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
    // Items that no thread there waits for any longer may be recalled.
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
