// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "collectives/channel.hpp"
#include "collectives/schedule/scratch.hpp"
#include "collectives/tuning/level.hpp"

namespace sinew::collectives {

/// Times message patterns between some of the ranks, which form a ring. Every rank of the channel
/// calls the same functions in the same order, also if it is not in the ring: the `clock` rank, a
/// member, tells all what it has measured.
class Probe {
public:
    /// `ring` has the members of this rank's ring, or is empty. If the ranks are `crowded`, with
    /// fewer cores than ranks, waiting is part of a typical time.
    Probe(Channel& channel, std::vector<int> ring, int clock, bool crowded);

    int members() const { return static_cast<int>(ring_.size()); }
    /// Seconds of an exchange with the neighbors on the ring.
    double exchange(std::size_t bytes, int repetitions);
    /// Seconds of exchanges with the next `partners` on the ring at the same time.
    double burst(int partners, std::size_t bytes, int repetitions);
    /// Seconds in which a stream of `bytes` in all reaches the next, half of it received before.
    double stream(std::size_t bytes, std::size_t segment, int window, int repetitions);

private:
    template <class Run>
    double typical(int repetitions, Run run);
    int at(int away) const;

    Channel& channel_;
    std::vector<int> ring_;
    int clock_;
    bool crowded_;
    int position_ = -1;
};

/// Returns the value of rank `root` on every rank, by a tree. Collective.
double agreed(Channel& channel, double value, int root);

}  // namespace sinew::collectives
