// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "collectives/schedule/fold.hpp"

namespace sinew::collectives {

/// Recursive halving: reduces a vector so that each active rank of a fold ends with one part of it,
/// and gathers the parts again. Neighbors come first, so each element is summed in Order::tree;
/// rank r therefore ends with the part whose number is r with its bits reversed.
class Halving {
public:
    /// `cuts` are the fold.ranks() + 1 offsets, in bytes, at which the parts begin and end.
    Halving(Fold const& fold, std::span<std::size_t const> cuts)
        : fold_(fold), cuts_(cuts), first_(0), parts_(fold.ranks()) {}

    /// Cuts `call.count` elements evenly.
    static std::span<std::size_t const> even_cuts(Arguments const& call, int parts);

    void reduce_scatter(Channel& channel, Partial& vector, Steps& steps);
    /// The range of the result that this rank has: its part, which the gathering extends.
    ChunkRange held() const { return range(first_, parts_); }
    /// Sends all parts to all ranks, or only to the active rank `top`. `data` is the whole vector.
    void allgather(Channel& channel, std::byte* data, Steps& steps);
    void gather(Channel& channel, std::byte* data, int top, Steps& steps);

private:
    ChunkRange range(int first, int parts) const;
    /// The first part of the half that this rank gives away or has not received yet.
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
