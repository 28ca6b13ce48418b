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
    arriving_.emplace(*transfer, Arriving{*head, nullptr, 0, 0, Reservation(budget_, each)});
    return true;
}

// Grows with the bytes that have arrived, not with the claimed size. realloc remaps large blocks
// instead of copying them.
void Assembler::Arriving::grow(std::size_t wanted, std::shared_ptr<MemoryBudget> const& budget) {
    if (wanted <= capacity) return;
    auto const more = static_cast<std::size_t>(
        std::min<std::uint64_t>(head.size, std::max(2 * capacity, wanted)));
    auto* const larger = static_cast<std::byte*>(std::realloc(bytes.get(), more));
    if (larger == nullptr) throw std::bad_alloc();
    (void)bytes.release();
    bytes.reset(larger);
    capacity = more;
    reserved = Reservation(budget, capacity);
}

std::optional<Message> Assembler::piece(std::span<std::byte const> payload) {
    auto const transfer = take_value<std::uint64_t>(payload);
    auto const found = transfer ? arriving_.find(*transfer) : arriving_.end();
    if (found == arriving_.end()) return std::nullopt;
    Arriving& message = found->second;
    auto const size = std::min<std::size_t>(payload.size(), message.head.size - message.arrived);
    if (size == 0) return std::nullopt;
    try {
        message.grow(message.arrived + size, budget_);
    } catch (std::bad_alloc const&) {
        arriving_.erase(found);
        throw;
    }
    std::memcpy(message.bytes.get() + message.arrived, payload.data(), size);
    message.arrived += size;
    if (message.arrived < message.head.size) return std::nullopt;
    auto const head = message.head;
    std::shared_ptr<std::byte const> const whole(message.bytes.release(), Free());
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
