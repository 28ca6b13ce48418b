// SPDX-License-Identifier: Apache-2.0
#include "src/process/queue_letter.hpp"

#include <algorithm>
#include <new>

namespace sinew::process {

std::optional<Letter> take_letter(std::span<std::byte const>& frame) {
    auto const head = take_value<LetterHead>(frame);
    if (!head || head->size > frame.size()) return std::nullopt;
    Letter letter{*head, frame.first(head->size), nullptr};
    frame = frame.subspan(head->size);
    return letter;
}

bool Assembler::begin(std::span<std::byte const> payload) {
    auto const transfer = take_value<std::uint64_t>(payload);
    auto const head = take_value<LetterHead>(payload);
    if (!transfer || !head || head->size == 0 || arriving_.contains(*transfer)) return false;
    if (budget_ && head->size > budget_->limit()) return false;
    // So that many that never go on count, too.
    constexpr std::size_t each = 256;
    arriving_.emplace(*transfer, Arriving{*head, nullptr, 0, 0, Reservation(budget_, each)});
    return true;
}

// With what has arrived, not with what is claimed. Large blocks are moved by the kernel, not copied.
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

std::optional<Letter> Assembler::piece(std::span<std::byte const> payload) {
    auto const transfer = take_value<std::uint64_t>(payload);
    auto const found = transfer ? arriving_.find(*transfer) : arriving_.end();
    if (found == arriving_.end()) return std::nullopt;
    Arriving& letter = found->second;
    auto const size = std::min<std::size_t>(payload.size(), letter.head.size - letter.arrived);
    if (size == 0) return std::nullopt;
    try {
        letter.grow(letter.arrived + size, budget_);
    } catch (std::bad_alloc const&) {
        arriving_.erase(found);
        throw;
    }
    std::memcpy(letter.bytes.get() + letter.arrived, payload.data(), size);
    letter.arrived += size;
    if (letter.arrived < letter.head.size) return std::nullopt;
    auto const head = letter.head;
    std::shared_ptr<std::byte const> const whole(letter.bytes.release(), Free());
    arriving_.erase(found);
    return Letter{head, {whole.get(), head.size}, whole};
}

void Assembler::abort(std::span<std::byte const> payload) {
    if (auto const transfer = take_value<std::uint64_t>(payload)) arriving_.erase(*transfer);
}

void add_to(std::vector<Range>& ranges, std::uint64_t number) {
    if (!ranges.empty() && ranges.back().last + 1 == number) ++ranges.back().last;
    else ranges.push_back({number, number});
}

std::vector<Range> take_ranges(std::span<std::byte const> bytes) {
    std::vector<Range> ranges;
    while (auto const range = take_value<Range>(bytes)) ranges.push_back(*range);
    return ranges;
}

}  // namespace sinew::process
