// SPDX-License-Identifier: Apache-2.0
#include "src/process/queue/owner.hpp"

#include <algorithm>
#include <utility>

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
    auto const taken_out = [&] { std::erase(pending_, &pending); };
    try {
        messenger_.wait(
            lock, pending.changed, deadline, [&] { return pending.done || closed_; },
            LoopLeader::Turn::some_time);
    } catch (...) {
        taken_out();
        throw;
    }
    taken_out();
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
        dispatch();
        try {
            messenger_.wait(
                lock, claim.changed, deadline, [&] { return claim.item || claim.drained; },
                LoopLeader::Turn::some_time);
        } catch (...) {
            std::erase(waiting_, &claim);
            throw;
        }
        std::erase(waiting_, &claim);
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

// Puts that wait for room, in their order.
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

// Somebody waits and nothing is here: what lies about at others is called back. Where nothing does,
// a closed queue has ended for those who wait.
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

}  // namespace sinew::process
