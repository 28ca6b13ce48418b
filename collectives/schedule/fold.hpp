// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "collectives/channel.hpp"
#include "collectives/schedule/partial.hpp"
#include "collectives/schedule/steps.hpp"

namespace sinew::collectives {

/// Makes a power of two of any number of ranks: the first 2(P - 2^k) ranks stand in pairs of
/// neighbours, one of which hands its vector to the other, sits the algorithm out, and gets the
/// result at the end. The even one stays, unless the odd one is to be `kept`.
///
/// Active ranks are numbered 0 .. 2^k - 1, in the order of the real ones. Combining them in a
/// balanced tree, neighbours first, is Order::tree.
class Fold {
public:
    Fold(int rank, int ranks, int kept = 0);

    bool active() const { return rank_ >= 0; }
    /// This rank's number among the active ones, and how many there are.
    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    /// log2 of ranks().
    int rounds() const;
    /// Whether any rank must sit out: one step more before and, where it applies, after.
    bool pairs() const { return extra_ > 0; }
    /// Whether this rank is one of a pair, and of which other.
    bool paired() const { return real_rank_ < 2 * extra_; }
    int partner() const { return real_rank_ ^ 1; }

    int real(int folded) const;
    int folded(int real) const { return real < 2 * extra_ ? real / 2 : real - extra_; }

    /// Before: the vectors of each pair become one, in `mine` of the active rank.
    void join(Channel& channel, Partial& mine, Steps& steps) const;
    /// After: the active rank of each pair gives `result` to the other.
    void spread(Channel& channel, std::span<std::byte> result, Steps& steps) const;

private:
    int real_rank_;
    int ranks_;
    int extra_;
    int kept_;
    int rank_;
};

}  // namespace sinew::collectives
