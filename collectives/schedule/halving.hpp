// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "collectives/schedule/fold.hpp"

namespace sinew::collectives {

/// Recursive halving: a vector is reduced so that each active rank of a fold ends with one part of
/// it, and the way back. Neighbours come first, so each element is summed in Order::tree; rank r
/// therefore ends with part number r with its bits reversed.
class Halving {
public:
    /// `cuts`: the fold.ranks() + 1 offsets, in bytes, at which the parts begin and end.
    Halving(Fold const& fold, std::span<std::size_t const> cuts)
        : fold_(fold), cuts_(cuts), first_(0), parts_(fold.ranks()) {}

    /// Cuts `count` elements evenly.
    static std::span<std::size_t const> even_cuts(Arguments const& call, int parts);

    void reduce_scatter(Channel& channel, Partial& vector, Steps& steps);
    /// What this rank has of the result: its part after reduce_scatter, then ever more.
    ChunkRange held() const { return range(first_, parts_); }
    /// Gives all parts to all, or to the active rank `top` only. `data` is the whole vector.
    void allgather(Channel& channel, std::byte* data, Steps& steps);
    void gather(Channel& channel, std::byte* data, int top, Steps& steps);

private:
    ChunkRange range(int first, int parts) const;
    /// The half that a rank does not keep, or has not got yet.
    int sibling() const { return first_ ^ parts_; }
    void merge() {
        first_ &= ~parts_;
        parts_ *= 2;
    }

    Fold const& fold_;
    std::span<std::size_t const> cuts_;
    int first_;
    int parts_;
};

}  // namespace sinew::collectives
