// SPDX-License-Identifier: Apache-2.0
// What a queue's own process tells the others.
#include <utility>

#include "src/process/queue/client.hpp"

namespace sinew::process {
namespace {

// Nothing that a queue sends runs further ahead of what it was asked for.
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

// Another reader waits for what nobody has asked for here yet.
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
    available();  // takes those returned off the front
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
