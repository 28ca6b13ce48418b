// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace sinew::pool {

/// Slots sorted roughly: on 64 shelves. Putting, removing and finding one on the lowest or highest
/// shelf in use take the same time however many slots there are.
class Shelves {
public:
    static constexpr std::uint8_t none = 255;

    /// Moves the slot to this shelf; `none`: to no shelf.
    void put(std::uint32_t slot, std::uint8_t shelf) {
        if (slot >= places_.size()) places_.resize(slot + 1);
        if (places_[slot].shelf == shelf) return;
        remove(slot);
        if (shelf == none) return;
        places_[slot] = {shelf, static_cast<std::uint32_t>(shelves_[shelf].size())};
        shelves_[shelf].push_back(slot);
        used_ |= std::uint64_t{1} << shelf;
    }
    std::optional<std::uint32_t> lowest() const {
        if (used_ == 0) return std::nullopt;
        return shelves_[static_cast<std::size_t>(std::countr_zero(used_))].back();
    }
    std::optional<std::uint32_t> highest() const {
        if (used_ == 0) return std::nullopt;
        return shelves_[static_cast<std::size_t>(63 - std::countl_zero(used_))].back();
    }
    std::size_t size_of(std::uint8_t shelf) const { return shelves_[shelf].size(); }
    std::uint8_t shelf_of(std::uint32_t slot) const {
        return slot < places_.size() ? places_[slot].shelf : none;
    }

private:
    struct Place {
        std::uint8_t shelf = none;
        std::uint32_t position = 0;
    };
    void remove(std::uint32_t slot) {
        auto const [shelf, position] = places_[slot];
        if (shelf == none) return;
        auto& slots = shelves_[shelf];
        slots[position] = slots.back();
        places_[slots[position]].position = position;
        slots.pop_back();
        if (slots.empty()) used_ &= ~(std::uint64_t{1} << shelf);
        places_[slot] = {};
    }

    std::array<std::vector<std::uint32_t>, 64> shelves_;
    std::vector<Place> places_;
    std::uint64_t used_ = 0;  // bit n: shelf n has slots
};

}  // namespace sinew::pool
