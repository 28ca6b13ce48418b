// SPDX-License-Identifier: Apache-2.0
#include "src/process/rpc/messenger.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::process {
namespace {

// A message later than this after the previous one is sent at once: a system call takes less.
constexpr auto succession = std::chrono::microseconds(5);
// A batch of messages is sent when it is this old, or has `small_message` bytes,
constexpr auto collecting = std::chrono::microseconds(50);
// and otherwise by the loop after this time.
constexpr auto quiet = std::chrono::microseconds(100);

enum Op : std::uint16_t { ask_arrived = 1, arrived = 2 };

Lock lock_of(Runtime& runtime) {
    auto& guard = runtime.guard();
    return Runtime::in_callback() ? Lock(guard, std::defer_lock) : Lock(guard);
}

}  // namespace

Lock Messenger::lock() { return lock_of(runtime_); }

// Locks the guard before the static's initialization. Callbacks hold it there, too, so that the
// order of the two locks is the same on all threads.
Messenger& Messenger::instance() {
    auto& runtime = Runtime::instance();  // refuses forked processes
    auto const held = lock_of(runtime);
    static Messenger* const messenger =
        new Messenger(runtime);  // never destroyed, like the runtime
    return *messenger;
}

Messenger::Messenger(Runtime& runtime) : runtime_(runtime) {
    handlers_[0] = {
        [this](auto const& peer, Message const& message) { own_message(peer, message); },
        [](auto const&, auto const&) {}, [] {}};
    runtime_.serve(
        {kinds::queue, kinds::queue_last,
         [this](auto const& peer, wire::Message const& message) {
             on_loop([&] { take_frame(peer, message); });
         },
         [this](auto const& peer, std::string const& why) { on_loop([&] { lost(peer, why); }); },
         [this](auto const& peer) { on_loop([&] { drained(peer); }); }});
    runtime_.at_end([this](std::function<void()> done) { on_loop([&] { end(std::move(done)); }); });
}

void Messenger::serve(ServiceId service, Handler handler) {
    handlers_[static_cast<std::size_t>(service)] = std::move(handler);
}

ProcessAddress Messenger::own_address() {
    return {origin(), runtime_.name(), runtime_.host(), runtime_.addresses()};
}

Messenger::PeerQueue& Messenger::queue(std::shared_ptr<Peer> const& peer) {
    auto& found = queues_[peer.get()];
    if (!found) {
        found = std::make_unique<PeerQueue>(peer);
    }
    return *found;
}

void Messenger::send(std::shared_ptr<Peer> const& peer, MessageHeader head,
                     std::span<std::byte const> bytes, std::shared_ptr<void const> keeper) {
    if (peer->lost()) return;
    head.size = bytes.size();
    PeerQueue& to = queue(peer);
    if (to.budget && !to.too_much && owed(to) + bytes.size() > to.budget->limit()) {
        to.too_much = true;
        drop_later(to, text("it does not read what it is sent (", owed(to), " bytes wait)"));
    }
    if (to.too_much) return;
    if (bytes.size() <= small_message) return batch(to, head, bytes);
    begin(to, head, bytes, std::move(keeper));
    send_pieces(to);
    if (!on_loop_) peer->flush();
}

bool Messenger::send_waiting(Lock& lock, std::shared_ptr<Peer> const& peer, MessageHeader head,
                             std::span<std::byte const> bytes, Clock::time_point deadline) {
    auto const has_room = [&] { return peer->lost() || !queue(peer).full; };
    if (!wait(lock, moved_, deadline, has_room, LoopLeader::Turn::some_time)) return false;
    if (peer->lost()) return true;
    if (bytes.size() <= small_message) {
        send(peer, head, bytes);
        return true;
    }
    head.size = bytes.size();
    auto const transfer = begin(queue(peer), head, bytes, nullptr);
    send_pieces(queue(peer));
    peer->flush();
    // The bytes belong to the caller: none of them may be sent after this call.
    auto const abort = [&] {
        if (transfer->ended) return;
        std::erase(queue(peer).transfers, transfer);
        peer->send(frame_kind::abort, {bytes_of(transfer->number)});
    };
    try {
        auto const ended = [&] { return transfer->ended; };
        if (wait(lock, moved_, deadline, ended, LoopLeader::Turn::some_time)) return true;
    } catch (...) {
        abort();
        throw;
    }
    abort();
    return false;
}

std::size_t Messenger::owed(PeerQueue const& queue) {
    auto sum = queue.peer->queued() + queue.batched.size();
    for (auto const& each : queue.transfers) sum += each->bytes.size();
    return sum;
}

// Defers the drop to the loop: the caller may be iterating over `queues_`, or a handler that uses
// the peer.
void Messenger::drop_later(PeerQueue const& queue, std::string why) {
    runtime_.loop().post([peer = queue.peer, why = std::move(why)] { peer->drop(why); });
}

std::shared_ptr<Messenger::Transfer> Messenger::begin(PeerQueue& queue, MessageHeader const& head,
                                                      std::span<std::byte const> bytes,
                                                      std::shared_ptr<void const> keeper) {
    flush(queue);  // earlier messages must arrive first
    auto transfer = std::make_shared<Transfer>(Transfer{++transfers_, bytes, std::move(keeper)});
    queue.peer->send(frame_kind::begin, {bytes_of(transfer->number), bytes_of(head)});
    queue.transfers.push_back(transfer);
    return transfer;
}

void Messenger::batch(PeerQueue& queue, MessageHeader const& head,
                      std::span<std::byte const> bytes) {
    auto const now = on_loop_ ? Clock::time_point() : Clock::now();
    if (queue.batched.size() + sizeof head + bytes.size() > piece_size) flush(queue);
    bool const alone = now - queue.last > succession;
    if (queue.batched.empty()) queue.first = now;
    queue.last = now;
    auto const first = bytes_of(head);
    queue.batched.insert(queue.batched.end(), first.begin(), first.end());
    queue.batched.insert(queue.batched.end(), bytes.begin(), bytes.end());
    if (on_loop_) return;
    bool const enough = now - queue.first > collecting || queue.batched.size() >= small_message;
    if (alone || enough) {
        flush(queue);
        flushed_ = enough ? Flushed::several : Flushed::one;
    } else if (!std::exchange(timer_set_, true)) {
        leftovers_ = runtime_.loop().after(quiet, [this] {
            timer_set_ = false;
            on_loop([] {});
        });
    }
}

void Messenger::poll_once(Lock& lock) {
    auto const shipped = std::exchange(flushed_, Flushed::nothing);
    if (shipped == Flushed::nothing) return;
    runtime_.loop_leader().yield_soon();
    if (shipped == Flushed::several) runtime_.loop_leader().poll_once(lock);
}

void Messenger::flush(PeerQueue& queue) {
    if (queue.batched.empty()) return;
    // A failure to send to one peer must not affect other peers, or the caller.
    try {
        auto const flow = on_loop_ ? queue.peer->send(frame_kind::messages, {queue.batched})
                                   : queue.peer->send_now(frame_kind::messages, {queue.batched});
        if (flow == wire::Flow::full) queue.full = true;
    } catch (std::exception const& error) {
        drop_later(queue, text("nothing can be sent to it (", error.what(), ")"));
    }
    queue.batched.clear();
}

void Messenger::flush_batches() {
    for (auto const& [peer, queue] : queues_) flush(*queue);
}

bool Messenger::wait(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
                     std::function<bool()> const& ready, LoopLeader::Turn turn) {
    if (ready()) return true;
    if (deadline == Clock::time_point::min()) return false;
    flush_before_wait();
    bool const in_time = runtime_.loop_leader().wait(
        lock, changed, deadline, [&] { return ended_ || ready(); }, turn);
    if (ended_ && !ready()) refuse_at_end();
    return in_time;
}

bool Messenger::wait_for_any(Lock& lock, Clock::time_point deadline,
                             std::function<bool()> const& ready) {
    if (ready()) return true;
    flush_before_wait();
    bool const in_time =
        runtime_.loop_leader().wait_for_any(lock, deadline, [&] { return ended_ || ready(); });
    if (ended_ && !ready()) refuse_at_end();
    return in_time;
}

void Messenger::flush_before_wait() {
    flush_batches();
    for (auto const& [peer, queue] : queues_) queue->last = {};  // the next message is sent at once
}

void Messenger::on_loop(std::function<void()> const& work) {
    OnLoop const within(on_loop_);
    work();
    flush_batches();
}

// Sends one piece of each transfer in turn, while the link has room.
void Messenger::send_pieces(PeerQueue& queue) {
    while (!queue.full && !queue.transfers.empty()) {
        auto const transfer = std::move(queue.transfers.front());
        queue.transfers.pop_front();
        auto const piece = transfer->bytes.first(std::min(piece_size, transfer->bytes.size()));
        transfer->bytes = transfer->bytes.subspan(piece.size());
        if (queue.peer->send(frame_kind::piece, {bytes_of(transfer->number), piece}) ==
            wire::Flow::full)
            queue.full = true;
        if (!transfer->bytes.empty()) {
            queue.transfers.push_back(transfer);
        } else {
            transfer->ended = true;
            notify_all(moved_);
        }
    }
}

// Drops the peer if its message cannot be handled for any reason, including lack of memory: it
// would wait for an answer that never comes.
void Messenger::take_frame(std::shared_ptr<Peer> const& peer, wire::Message const& message) {
    try {
        frame(peer, message);
    } catch (std::exception const& error) {
        return peer->drop(text("a message from it cannot be handled (", error.what(), ")"));
    }
    auto const budget = peer->budget();
    if (budget && budget->used() > budget->limit())
        peer->drop(text("it has ", budget->used(), " bytes under way here (more than ",
                        budget->limit(), "). Wait for answers in between"));
}

void Messenger::frame(std::shared_ptr<Peer> const& peer, wire::Message const& message) {
    auto& assembler = queue(peer).assembler;
    auto rest = message.payload;
    switch (message.kind) {
        case frame_kind::messages:
            while (auto const message = take_message(rest)) deliver(peer, *message);
            if (rest.empty()) return;
            break;
        case frame_kind::begin:
            if (assembler.begin(rest)) return;
            break;
        case frame_kind::piece:
            if (auto const message = assembler.piece(rest)) deliver(peer, *message);
            return;
        case frame_kind::abort:
            return assembler.abort(rest);
        default:
            break;
    }
    auto const what = text("a message that is not valid here (kind ", +message.kind, ", ",
                           message.payload.size(), " bytes), or is too large");
    if (peer->trust() == PeerTrust::inbound_client) return peer->drop(text("it sent ", what));
    log_warning(text(peer->name(), " sent ", what));
}

void Messenger::deliver(std::shared_ptr<Peer> const& peer, Message const& message) {
    auto const service = static_cast<std::size_t>(message.head.service);
    // Processes of other sessions may use managers, and no other service.
    if (peer->trust() != PeerTrust::same_session && message.head.service != ServiceId::messenger &&
        message.head.service != ServiceId::manager)
        return;
    if (service < handlers_.size() && handlers_[service].message)
        handlers_[service].message(peer, message);
}

void Messenger::lost(std::shared_ptr<Peer> const& peer, std::string const& why) {
    auto const found = queues_.find(peer.get());
    if (found != queues_.end()) {
        for (auto const& transfer : found->second->transfers) transfer->ended = true;
        bool const asked = found->second->asked;
        queues_.erase(found);
        if (asked) answered();
    }
    notify_all(moved_);
    for (auto const& handler : handlers_)
        if (handler.lost) handler.lost(peer, why);
}

void Messenger::drained(std::shared_ptr<Peer> const& peer) {
    auto const found = queues_.find(peer.get());
    if (found == queues_.end()) return;
    found->second->full = false;
    send_pieces(*found->second);
    notify_all(moved_);
}

void Messenger::own_message(std::shared_ptr<Peer> const& peer, Message const& message) {
    if (message.head.op == ask_arrived) send(peer, {.op = arrived});
    if (message.head.op == arrived && std::exchange(queue(peer).asked, false)) answered();
}

// At the program's end, asks each peer to confirm that all earlier messages have arrived.
void Messenger::end(std::function<void()> done) {
    done_ = std::move(done);
    unanswered_ = queues_.size() + 1;
    for (auto const& [peer, queue] : queues_) {
        queue->asked = true;
        send(queue->peer, {.op = ask_arrived});
    }
    answered();
    ended_ = true;
    notify_all(moved_);
    runtime_.loop_leader().wake_all();
    for (auto const& handler : handlers_)
        if (handler.ended) handler.ended();
}

void Messenger::answered() {
    if (unanswered_ > 0 && --unanswered_ == 0) done_();
}

void Messenger::refuse_at_end() const {
    throw Unavailable(
        text("no queue, pipe or shared object works any more in ", runtime_.name(),
             " (it is about to end). Join threads that use them before main returns"));
}

}  // namespace sinew::process
