// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "collectives/channel.hpp"
#include "collectives/schedule/partial.hpp"
#include "collectives/schedule/steps.hpp"

namespace sinew::collectives {

/// Reduces any number of ranks P to a power of two: the first 2(P - 2^k) ranks form pairs of
/// neighbors. One of a pair sends its vector to the other, takes no part in the algorithm, and
/// receives the result at the end. The even rank stays active, unless the odd one is `kept`.
///
/// Active ranks are numbered 0 .. 2^k - 1, in the order of the real ones. Combining them in a
/// balanced tree, neighbors first, is Order::tree.
class Fold {
public:
    Fold(int rank, int ranks, int kept = 0);

    bool active() const { return rank_ >= 0; }
    /// This rank's number among the active ranks (-1: inactive), and the number of these.
    int rank() const { return rank_; }
    int ranks() const { return ranks_; }
    /// log2 of ranks().
    int rounds() const;
    /// Whether there are pairs, which cost one more step before and, if results are spread, after.
    bool pairs() const { return extra_ > 0; }
    /// Whether this rank is in a pair; its partner.
    bool paired() const { return real_rank_ < 2 * extra_; }
    int partner() const { return real_rank_ ^ 1; }

    int real(int folded) const;
    int folded(int real) const { return real < 2 * extra_ ? real / 2 : real - extra_; }

    /// Before the algorithm: combines the vectors of each pair in `mine` of the active rank.
    void join(Channel& channel, Partial& mine, Steps& steps) const;
    /// After the algorithm: the active rank of each pair sends `result` to the other.
    void spread(Channel& channel, std::span<std::byte> result, Steps& steps) const;

private:
    int real_rank_;
    int ranks_;
    int extra_;
    int kept_;
    int rank_;
};

}  // namespace sinew::collectives
