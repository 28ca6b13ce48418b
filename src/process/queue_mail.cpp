// SPDX-License-Identifier: Apache-2.0
#include "src/process/queue_mail.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::process {
namespace {

// Letters further apart than this are sent each by itself: the system call costs less.
constexpr auto succession = std::chrono::microseconds(5);
// What comes in quick succession is sent when so much time or so many bytes have come together.
constexpr auto collecting = std::chrono::microseconds(50);
// ... and by the loop when nothing more comes.
constexpr auto quiet = std::chrono::microseconds(100);

enum Op : std::uint16_t { ask_arrived = 1, arrived = 2 };

Lock lock_of(Runtime& runtime) {
    auto& guard = runtime.guard();
    return Runtime::in_callback() ? Lock(guard, std::defer_lock) : Lock(guard);
}

}  // namespace

Lock Mail::lock() { return lock_of(runtime_); }

// The guard is taken before it is made, by all: who makes it in a callback has the guard already.
Mail& Mail::instance() {
    auto& runtime = Runtime::instance();  // refuses forked processes
    auto const held = lock_of(runtime);
    static Mail* const mail = new Mail(runtime);  // for ever, as the runtime
    return *mail;
}

Mail::Mail(Runtime& runtime) : runtime_(runtime) {
    handlers_[0] = {[this](auto const& peer, Letter const& letter) { own_letter(peer, letter); },
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

void Mail::serve(MailService service, Handler handler) {
    handlers_[static_cast<std::size_t>(service)] = std::move(handler);
}

ProcessAddress Mail::own_address() {
    return {origin(), runtime_.name(), runtime_.host(), runtime_.addresses()};
}

Mail::Box& Mail::box(std::shared_ptr<Peer> const& peer) {
    auto& found = boxes_[peer.get()];
    if (!found) {
        found = std::make_unique<Box>(peer);
    }
    return *found;
}

void Mail::send(std::shared_ptr<Peer> const& peer, LetterHead head,
                std::span<std::byte const> bytes, std::shared_ptr<void const> keeper) {
    if (peer->lost()) return;
    head.size = bytes.size();
    Box& to = box(peer);
    if (to.budget && !to.too_much && owed(to) + bytes.size() > to.budget->limit()) {
        to.too_much = true;
        drop_later(to, text("it does not read what it is sent (", owed(to), " bytes wait)"));
    }
    if (to.too_much) return;
    if (bytes.size() <= small_letter) return collect(to, head, bytes);
    begin(to, head, bytes, std::move(keeper));
    pump(to);
    if (!on_loop_) peer->flush();
}

bool Mail::send_waiting(Lock& lock, std::shared_ptr<Peer> const& peer, LetterHead head,
                        std::span<std::byte const> bytes, Clock::time_point deadline) {
    auto const has_room = [&] { return peer->lost() || !box(peer).full; };
    if (!wait(lock, moved_, deadline, has_room, Seat::Turn::some_time)) return false;
    if (peer->lost()) return true;
    if (bytes.size() <= small_letter) {
        send(peer, head, bytes);
        return true;
    }
    head.size = bytes.size();
    auto const transfer = begin(box(peer), head, bytes, nullptr);
    pump(box(peer));
    peer->flush();
    // The bytes are the caller's: however this ends, nothing of them is sent afterwards.
    auto const abort = [&] {
        if (transfer->ended) return;
        std::erase(box(peer).transfers, transfer);
        peer->send(mail_frame::abort, {bytes_of(transfer->number)});
    };
    try {
        auto const ended = [&] { return transfer->ended; };
        if (wait(lock, moved_, deadline, ended, Seat::Turn::some_time)) return true;
    } catch (...) {
        abort();
        throw;
    }
    abort();
    return false;
}

std::size_t Mail::owed(Box const& box) {
    auto sum = box.peer->queued() + box.collected.size();
    for (auto const& each : box.transfers) sum += each->bytes.size();
    return sum;
}

// Not within whatever is going on: boxes are looked through, and handlers have their caller's peer.
void Mail::drop_later(Box const& box, std::string why) {
    runtime_.loop().post([peer = box.peer, why = std::move(why)] { peer->drop(why); });
}

std::shared_ptr<Mail::Transfer> Mail::begin(Box& box, LetterHead const& head,
                                            std::span<std::byte const> bytes,
                                            std::shared_ptr<void const> keeper) {
    ship(box);  // what was sent before arrives before
    auto transfer = std::make_shared<Transfer>(Transfer{++transfers_, bytes, std::move(keeper)});
    box.peer->send(mail_frame::begin, {bytes_of(transfer->number), bytes_of(head)});
    box.transfers.push_back(transfer);
    return transfer;
}

void Mail::collect(Box& box, LetterHead const& head, std::span<std::byte const> bytes) {
    auto const now = on_loop_ ? Clock::time_point() : Clock::now();
    if (box.collected.size() + sizeof head + bytes.size() > piece_size) ship(box);
    bool const alone = now - box.last > succession;
    if (box.collected.empty()) box.first = now;
    box.last = now;
    auto const first = bytes_of(head);
    box.collected.insert(box.collected.end(), first.begin(), first.end());
    box.collected.insert(box.collected.end(), bytes.begin(), bytes.end());
    if (on_loop_) return;
    bool const enough = now - box.first > collecting || box.collected.size() >= small_letter;
    if (alone || enough) {
        ship(box);
        shipped_ = enough ? Shipped::several : Shipped::one;
    } else if (!std::exchange(timer_set_, true)) {
        leftovers_ = runtime_.loop().after(quiet, [this] {
            timer_set_ = false;
            on_loop([] {});
        });
    }
}

void Mail::glance(Lock& lock) {
    auto const shipped = std::exchange(shipped_, Shipped::nothing);
    if (shipped == Shipped::nothing) return;
    runtime_.seat().relieve();
    if (shipped == Shipped::several) runtime_.seat().glance(lock);
}

void Mail::ship(Box& box) {
    if (box.collected.empty()) return;
    // What cannot be sent to one is no reason to stop what is sent to others, or for others.
    try {
        auto const flow = on_loop_ ? box.peer->send(mail_frame::letters, {box.collected})
                                   : box.peer->send_now(mail_frame::letters, {box.collected});
        if (flow == wire::Flow::full) box.full = true;
    } catch (std::exception const& error) {
        drop_later(box, text("nothing can be sent to it (", error.what(), ")"));
    }
    box.collected.clear();
}

void Mail::send_collected() {
    for (auto const& [peer, box] : boxes_) ship(*box);
}

bool Mail::wait(Lock& lock, std::condition_variable& changed, Clock::time_point deadline,
                std::function<bool()> const& ready, Seat::Turn turn) {
    if (ready()) return true;
    if (deadline == Clock::time_point::min()) return false;
    send_collected();
    for (auto const& [peer, box] : boxes_) box->last = {};  // what follows the answer goes at once
    bool const in_time = runtime_.seat().wait(
        lock, changed, deadline, [&] { return ended_ || ready(); }, turn);
    if (ended_ && !ready()) refuse_at_end();
    return in_time;
}

void Mail::on_loop(std::function<void()> const& work) {
    OnLoop const within(on_loop_);
    work();
    send_collected();
}

// One piece of each in turn, as long as the link takes them.
void Mail::pump(Box& box) {
    while (!box.full && !box.transfers.empty()) {
        auto const transfer = std::move(box.transfers.front());
        box.transfers.pop_front();
        auto const piece = transfer->bytes.first(std::min(piece_size, transfer->bytes.size()));
        transfer->bytes = transfer->bytes.subspan(piece.size());
        if (box.peer->send(mail_frame::piece, {bytes_of(transfer->number), piece}) ==
            wire::Flow::full)
            box.full = true;
        if (!transfer->bytes.empty()) {
            box.transfers.push_back(transfer);
        } else {
            transfer->ended = true;
            notify_all(moved_);
        }
    }
}

// Whatever goes wrong with what one peer sends, memory that there is not included, ends that peer: it
// would wait for an answer that nobody gives.
void Mail::take_frame(std::shared_ptr<Peer> const& peer, wire::Message const& message) {
    try {
        frame(peer, message);
    } catch (std::exception const& error) {
        return peer->drop(text("a message of it cannot be taken (", error.what(), ")"));
    }
    auto const budget = peer->budget();
    if (budget && budget->used() > budget->limit())
        peer->drop(text("it has ", budget->used(), " bytes under way here (more than ",
                        budget->limit(), "). Wait for answers in between"));
}

void Mail::frame(std::shared_ptr<Peer> const& peer, wire::Message const& message) {
    auto& assembler = box(peer).assembler;
    auto rest = message.payload;
    switch (message.kind) {
        case mail_frame::letters:
            while (auto const letter = take_letter(rest)) deliver(peer, *letter);
            if (rest.empty()) return;
            break;
        case mail_frame::begin:
            if (assembler.begin(rest)) return;
            break;
        case mail_frame::piece:
            if (auto const letter = assembler.piece(rest)) deliver(peer, *letter);
            return;
        case mail_frame::abort:
            return assembler.abort(rest);
        default:
            break;
    }
    auto const what = text("a message that makes no sense here (kind ", +message.kind, ", ",
                           message.payload.size(), " bytes), or is too large");
    if (peer->kinship() == Kinship::guest) return peer->drop(text("it sent ", what));
    log_warning(text(peer->name(), " sent ", what));
}

void Mail::deliver(std::shared_ptr<Peer> const& peer, Letter const& letter) {
    auto const service = static_cast<std::size_t>(letter.head.service);
    // Processes of other families have to do with objects, and with nothing else here.
    if (peer->kinship() != Kinship::family && letter.head.service != MailService::mail &&
        letter.head.service != MailService::manager)
        return;
    if (service < handlers_.size() && handlers_[service].letter)
        handlers_[service].letter(peer, letter);
}

void Mail::lost(std::shared_ptr<Peer> const& peer, std::string const& why) {
    auto const found = boxes_.find(peer.get());
    if (found != boxes_.end()) {
        for (auto const& transfer : found->second->transfers) transfer->ended = true;
        bool const asked = found->second->asked;
        boxes_.erase(found);
        if (asked) answered();
    }
    notify_all(moved_);
    for (auto const& handler : handlers_)
        if (handler.lost) handler.lost(peer, why);
}

void Mail::drained(std::shared_ptr<Peer> const& peer) {
    auto const found = boxes_.find(peer.get());
    if (found == boxes_.end()) return;
    found->second->full = false;
    pump(*found->second);
    notify_all(moved_);
}

void Mail::own_letter(std::shared_ptr<Peer> const& peer, Letter const& letter) {
    if (letter.head.op == ask_arrived) send(peer, {.op = arrived});
    if (letter.head.op == arrived && std::exchange(box(peer).asked, false)) answered();
}

// What was put shortly before the end of a program arrives: each peer is asked whether it has come.
void Mail::end(std::function<void()> done) {
    done_ = std::move(done);
    unanswered_ = boxes_.size() + 1;
    for (auto const& [peer, box] : boxes_) {
        box->asked = true;
        send(box->peer, {.op = ask_arrived});
    }
    answered();
    ended_ = true;
    notify_all(moved_);
    runtime_.seat().wake_all();
    for (auto const& handler : handlers_)
        if (handler.ended) handler.ended();
}

void Mail::answered() {
    if (unanswered_ > 0 && --unanswered_ == 0) done_();
}

void Mail::refuse_at_end() const {
    throw Unavailable(
        text("no queue, pipe or shared object works any more in ", runtime_.name(),
             " (it is about to end). Join threads that use them before main returns"));
}

}  // namespace sinew::process
