// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

/// Makes a power of two of any number of ranks: of the first 2(P - 2^k) ranks each odd one hands its
/// vector to its left neighbour, sits the algorithm out, and gets the result at the end. Neighbours
/// are joined in rank order.
class Fold {
public:
    Fold(int rank, int ranks);

    bool active() const { return rank_ >= 0; }
    /// This rank's number among the active ones (a power of two of them), and back to real ranks.
    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    int real(int folded) const { return folded < extra_ ? 2 * folded : folded + extra_; }
    int steps() const { return steps_; }

    /// Before: returns where this rank's operand is (`mine`, or `call.out` after a join).
    std::byte const* in(Channel& channel, Arguments const& call, std::byte const* mine,
                        std::span<std::byte> scratch) const;
    /// After: the result, which lies at `mine`, is in `call.out` on every rank.
    void out(Channel& channel, Arguments const& call, std::byte const* mine) const;

private:
    int real_rank_;
    int ranks_;
    int extra_;
    int rank_;
    int steps_;
};

}  // namespace sinew::collectives
