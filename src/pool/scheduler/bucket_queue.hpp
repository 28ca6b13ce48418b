// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <vector>

namespace sinew::pool {

/// Slots in 64 buckets. Adding and removing a slot, and finding one in the lowest or highest bucket
/// in use, take constant time.
class BucketQueue {
public:
    static constexpr std::uint8_t none = 255;

    /// Moves the slot to this bucket; `none`: removes it.
    void put(std::uint32_t slot, std::uint8_t bucket) {
        if (slot >= placement_.size()) placement_.resize(slot + 1);
        if (placement_[slot].bucket == bucket) return;
        remove(slot);
        if (bucket == none) return;
        placement_[slot] = {bucket, static_cast<std::uint32_t>(buckets_[bucket].size())};
        buckets_[bucket].push_back(slot);
        used_ |= std::uint64_t{1} << bucket;
    }
    std::optional<std::uint32_t> lowest() const {
        if (used_ == 0) return std::nullopt;
        return buckets_[static_cast<std::size_t>(std::countr_zero(used_))].back();
    }
    std::optional<std::uint32_t> highest() const {
        if (used_ == 0) return std::nullopt;
        return buckets_[static_cast<std::size_t>(63 - std::countl_zero(used_))].back();
    }
    std::size_t size_of(std::uint8_t bucket) const { return buckets_[bucket].size(); }
    std::uint8_t bucket_of(std::uint32_t slot) const {
        return slot < placement_.size() ? placement_[slot].bucket : none;
    }

private:
    struct Place {
        std::uint8_t bucket = none;
        std::uint32_t position = 0;
    };
    void remove(std::uint32_t slot) {
        auto const [bucket, position] = placement_[slot];
        if (bucket == none) return;
        auto& slots = buckets_[bucket];
        slots[position] = slots.back();
        placement_[slots[position]].position = position;
        slots.pop_back();
        if (slots.empty()) used_ &= ~(std::uint64_t{1} << bucket);
        placement_[slot] = {};
    }

    std::array<std::vector<std::uint32_t>, 64> buckets_;
    std::vector<Place> placement_;
    std::uint64_t used_ = 0;  // bit n: bucket n has slots
};

}  // namespace sinew::pool
