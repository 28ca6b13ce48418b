// SPDX-License-Identifier: Apache-2.0
#include "src/process/queue/client.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/scope_exit.hpp"
#include "src/base/text.hpp"

namespace sinew::process {
namespace {

constexpr std::size_t most_ahead = 256;
constexpr double work_ahead = 1e-3;  // seconds
// How long to wait for the owner's answer beyond a deadline. A stopped process never answers, and
// within a host only this limit distinguishes it from a busy one.
constexpr auto patience_with_the_owner = std::chrono::seconds(5);
constexpr auto acknowledge_after = std::chrono::milliseconds(1);

std::uint32_t epochs = 0;  // requires: guard held

}  // namespace

QueueClient::QueueClient(Messenger& messenger, std::shared_ptr<Peer> owner, std::string name,
                         std::uint64_t id, std::size_t bound)
    : messenger_(messenger), owner_(std::move(owner)), name_(std::move(name)), id_(id),
      bound_(bound), epoch_(++epochs) {}

void QueueClient::check() const {
    if (!why_lost_.empty())
        throw PeerLost(text("a queue that lived in ", name_, " is gone (", why_lost_, ")"));
}

void QueueClient::send(QueueOp op, std::uint64_t number, std::span<std::byte const> bytes) {
    messenger_.send(owner_, head(op, number), bytes);
}

bool QueueClient::put(Lock& lock, Writer const& item, Clock::time_point deadline) {
    check();
    if (closed_) return false;
    bool sent = false;
    if (bound_ != 0) {
        sent = ask_for_room(lock, item, deadline);
    } else {
        sent = messenger_.send_waiting(lock, owner_, head(QueueOp::put, 0), item.bytes(), deadline);
    }
    check();
    return sent;
}

bool QueueClient::ask_for_room(Lock& lock, Writer const& item, Clock::time_point deadline) {
    auto const number = ++numbers_;
    Call call;
    calls_[number] = &call;
    ScopeExit const over([&] { calls_.erase(number); });
    auto const answered = [&] { return call.answer || !why_lost_.empty(); };
    bool const at_once = deadline == Clock::time_point::min();
    auto const op = at_once ? QueueOp::put_try : QueueOp::put_ask;
    auto const sending = at_once ? Clock::now() + patience_with_the_owner : deadline;
    if (messenger_.send_waiting(lock, owner_, head(op, number), item.bytes(), sending) &&
        !messenger_.wait(lock, call.changed, sending, answered)) {
        send(QueueOp::put_cancel, number);
        if (at_once ||
            !messenger_.wait(lock, call.changed, Clock::now() + patience_with_the_owner, answered))
            throw_silent();
    }
    if (call.answer == 2) closed_ = true;
    return call.answer == 1;
}

void QueueClient::throw_silent() const {
    throw Timeout(text("a queue that lives in ", name_, " has not answered for ",
                       patience_with_the_owner.count(),
                       " s (is that process stopped?). The item that was put will be in it if the "
                       "process continues and there is room. Resume or end that process"));
}

std::optional<std::uint64_t> QueueClient::ask(Lock& lock, QueueOp op, std::uint64_t number,
                                              Clock::time_point deadline) {
    Call call;
    calls_[number] = &call;
    ScopeExit const over([&] { calls_.erase(number); });
    send(op, number);
    messenger_.wait(lock, call.changed, deadline,
                    [&] { return call.answer || !why_lost_.empty(); });
    check();
    return call.answer;
}

std::size_t QueueClient::size(Lock& lock) {
    check();
    tell(true);  // acknowledged items no longer count
    return ask(lock, QueueOp::size, ++numbers_, never).value();
}

void QueueClient::close() {
    check();
    if (std::exchange(closed_, true)) return;
    send(QueueOp::close);
    messenger_.flush_batches();
}

std::optional<QueueItem> QueueClient::take(Lock& lock, Clock::time_point deadline,
                                           bool acknowledge) {
    auto const now = Clock::now();
    note_pace(now);
    std::optional<QueueItem> item;
    {
        ++waiting_;
        ScopeExit const left([this] { --waiting_; });
        if (available()) item = pop(acknowledge);
        else if (deadline <= now) item = try_take(lock, acknowledge);
        else item = wait_for_item(lock, deadline, acknowledge);
    }
    if (item) tell(false);
    else if (why_lost_.empty()) tell(true);  // this thread no longer waits
    if (!acknowledged_.empty()) acknowledge_soon();
    return item;
}

std::optional<QueueItem> QueueClient::wait_for_item(Lock& lock, Clock::time_point deadline,
                                                    bool acknowledge) {
    check();
    tell(false);
    auto const drains = drains_;
    messenger_.wait(
        lock, arrived_, deadline,
        [&] { return available() || drains_ != drains || !why_lost_.empty(); },
        LoopLeader::Turn::some_time);
    last_take_ = Clock::now();
    if (available()) return pop(acknowledge);
    check();
    return std::nullopt;
}

std::optional<QueueItem> QueueClient::try_take(Lock& lock, bool acknowledge) {
    check();
    // An item that arrives after this deadline is kept for the next take.
    auto const deadline = Clock::now() + patience_with_the_owner;
    auto const place = ask(lock, QueueOp::try_take, ++numbers_, deadline);
    if (place.value_or(0) == 0) return std::nullopt;
    // The item is in flight, in pieces if it is large; another thread may take it first.
    messenger_.wait(lock, arrived_, deadline,
                    [&] { return available() || first_ > place || !why_lost_.empty(); });
    if (available()) return pop(acknowledge);
    check();
    return std::nullopt;
}

bool QueueClient::available() {
    while (!slots_.empty() && slots_.front().state == Slot::State::returned) {
        slots_.pop_front();
        ++first_;
    }
    return !slots_.empty() && slots_.front().state == Slot::State::here;
}

std::optional<QueueItem> QueueClient::pop(bool acknowledge) {
    auto item = std::move(slots_.front().item);
    slots_.pop_front();
    item.ticket = first_++;
    if (acknowledge) add_to(acknowledged_, item.ticket);
    return item;
}

// Derives from the pace of takes how many items to request ahead.
void QueueClient::note_pace(Clock::time_point now) {
    double const busy = std::chrono::duration<double>(now - last_take_).count();
    pace_ += (std::min(busy, 10 * work_ahead) - pace_) / 4;
    last_take_ = now;
    ahead_ =
        pace_ >= work_ahead
            ? 0
            : std::min(most_ahead, static_cast<std::size_t>(work_ahead / std::max(pace_, 1e-6)));
}

void QueueClient::tell(bool force) {
    auto const taken = first_ - 1;
    QueueDemand const wanted{taken + waiting_, taken + std::max(waiting_, ahead_)};
    bool const somebody_waits = wanted.need > told_.need && wanted.need > taken + slots_.size();
    bool const worth_it =
        wanted.limit >= told_.limit + std::max<std::size_t>(1, ahead_ / 2) && ahead_ > 0;
    bool const room = bound_ != 0 && !acknowledged_.empty();
    if (!force && !somebody_waits && !worth_it && !room) return;
    told_ = wanted;
    std::vector<std::byte> body(sizeof wanted + acknowledged_.size() * sizeof(NumberRange));
    std::memcpy(body.data(), &wanted, sizeof wanted);
    if (!acknowledged_.empty())
        std::memcpy(body.data() + sizeof wanted, acknowledged_.data(),
                    acknowledged_.size() * sizeof(NumberRange));
    acknowledged_.clear();
    send(QueueOp::demand, 0, body);
}

void QueueClient::acknowledge_soon() {
    if (std::exchange(timer_set_, true)) return;
    soon_ = messenger_.runtime().loop().after(acknowledge_after, [this] {
        timer_set_ = false;
        messenger_.on_loop([this] {
            if (!acknowledged_.empty() && why_lost_.empty()) tell(true);
        });
    });
}

void QueueClient::acknowledge(std::uint64_t ticket) {
    if (!why_lost_.empty()) return;
    add_to(acknowledged_, ticket);
    tell(true);
    messenger_.flush_batches();
}

void QueueClient::give_back(std::uint64_t ticket) {
    if (!why_lost_.empty()) return;
    send(QueueOp::give_back, 0, bytes_of(NumberRange{ticket, ticket}));
    messenger_.flush_batches();
}

void QueueClient::leave() {
    soon_ = {};
    if (!why_lost_.empty()) return;
    tell(true);
    send(QueueOp::leave);
    messenger_.flush_batches();
}

// ---- messages from the owner --------------------------------------------------------------------

namespace {

// Maximum distance of an item ahead of the first slot. An owner sends only what was asked for, so
// it never exceeds this.
constexpr std::uint64_t most_places = std::uint64_t{1} << 20;

}  // namespace

void QueueClient::message(Message const& message) {
    if (message.head.epoch != 0 && message.head.epoch != epoch_) return;
    switch (static_cast<QueueOp>(message.head.op)) {
        case QueueOp::item:
            return arrived(message);
        case QueueOp::put_done:
        case QueueOp::tried:
        case QueueOp::size_is:
            return answer(message);
        case QueueOp::recall:
            return return_untaken();
        case QueueOp::closed:
            closed_ = true;
            return;
        case QueueOp::drained:
            closed_ = true;
            ++drains_;
            told_ = {};
            return messenger_.notify_all(arrived_);
        case QueueOp::gone:
            return lost("it was closed, emptied and released there");
        default:
            return;
    }
}

void QueueClient::arrived(Message const& message) {
    auto const place = message.head.number;
    if (place < first_ || place - first_ >= most_places) return;
    if (slots_.size() <= place - first_) slots_.resize(place - first_ + 1);
    auto& slot = slots_[place - first_];
    if (slot.state != Slot::State::missing) return;
    slot.item =
        message.keeper ? QueueItem{message.keeper, message.bytes} : arena_.store(message.bytes);
    slot.state = Slot::State::here;
    messenger_.notify_all(arrived_);
}

void QueueClient::answer(Message const& message) {
    auto const found = calls_.find(message.head.number);
    if (found == calls_.end()) return;
    auto bytes = message.bytes;
    if (bytes.size() == 1) found->second->answer = std::to_integer<std::uint64_t>(bytes[0]);
    else found->second->answer = take_value<std::uint64_t>(bytes).value_or(0);
    messenger_.notify_all(found->second->changed);
}

// Returns the items that no thread here waits for, since another reader does.
void QueueClient::return_untaken() {
    std::vector<NumberRange> places;
    if (waiting_ == 0) {
        for (std::size_t i = 0; i < slots_.size(); ++i) {
            if (slots_[i].state != Slot::State::here) continue;
            slots_[i] = {{}, Slot::State::returned};
            add_to(places, first_ + i);
        }
    }
    auto const reached = first_ + slots_.size() - 1;
    ahead_ = 0;
    pace_ = 2e-3;
    available();  // removes returned slots at the front
    tell(true);
    send(QueueOp::answer, reached, std::as_bytes(std::span(places)));
}

void QueueClient::lost(std::string const& why) {
    if (!why_lost_.empty()) return;
    why_lost_ = why.empty() ? "its process has ended" : why;
    slots_.clear();
    soon_ = {};
    ended();
}

void QueueClient::ended() {
    messenger_.notify_all(arrived_);
    for (auto const& [number, call] : calls_) messenger_.notify_all(call->changed);
}

}  // namespace sinew::process
