// SPDX-License-Identifier: Apache-2.0
#include "src/process/rpc/message.hpp"

#include <algorithm>
#include <new>

namespace sinew::process {

std::optional<Message> take_message(std::span<std::byte const>& frame) {
    auto const head = take_value<MessageHeader>(frame);
    if (!head || head->size > frame.size()) return std::nullopt;
    Message message{*head, frame.first(head->size), nullptr};
    frame = frame.subspan(head->size);
    return message;
}

bool Assembler::begin(std::span<std::byte const> payload) {
    auto const transfer = take_value<std::uint64_t>(payload);
    auto const head = take_value<MessageHeader>(payload);
    if (!transfer || !head || head->size == 0 || arriving_.contains(*transfer)) return false;
    if (budget_ && head->size > budget_->limit()) return false;
    // A fixed charge, so that transfers that never continue count, too.
    constexpr std::size_t each = 256;
    arriving_.emplace(*transfer, Arriving{*head, Reservation(budget_, each)});
    return true;
}

std::optional<Message> Assembler::piece(std::span<std::byte const> payload) {
    auto const transfer = take_value<std::uint64_t>(payload);
    auto const found = transfer ? arriving_.find(*transfer) : arriving_.end();
    if (found == arriving_.end()) return std::nullopt;
    Arriving& message = found->second;
    auto& received = message.payload;
    auto const size = std::min<std::size_t>(payload.size(), message.head.size - received.size());
    if (size == 0) return std::nullopt;
    auto const before = received.capacity();
    try {
        received.append(payload.first(size), message.head.size);
    } catch (std::bad_alloc const&) {
        arriving_.erase(found);
        throw;
    }
    if (received.capacity() != before) message.reserved = Reservation(budget_, received.capacity());
    if (received.size() < message.head.size) return std::nullopt;
    auto const head = message.head;
    auto const whole = received.release();
    arriving_.erase(found);
    return Message{head, {whole.get(), head.size}, whole};
}

void Assembler::abort(std::span<std::byte const> payload) {
    if (auto const transfer = take_value<std::uint64_t>(payload)) arriving_.erase(*transfer);
}

void add_to(std::vector<NumberRange>& ranges, std::uint64_t number) {
    if (!ranges.empty() && ranges.back().last + 1 == number) ++ranges.back().last;
    else ranges.push_back({number, number});
}

std::vector<NumberRange> take_ranges(std::span<std::byte const> bytes) {
    std::vector<NumberRange> ranges;
    while (auto const range = take_value<NumberRange>(bytes)) ranges.push_back(*range);
    return ranges;
}

}  // namespace sinew::process
