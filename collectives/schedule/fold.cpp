// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/fold.hpp"

#include <bit>

namespace sinew::collectives {

Fold::Fold(int rank, int ranks, int kept)
    : real_rank_(rank), ranks_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
      extra_(ranks - ranks_), kept_(kept), rank_(-1) {
    int const number = folded(rank);
    if (real(number) == rank) rank_ = number;
}

int Fold::rounds() const { return std::countr_zero(static_cast<unsigned>(ranks_)); }

int Fold::real(int folded) const {
    if (folded >= extra_) return folded + extra_;
    return 2 * folded + (kept_ == 2 * folded + 1 ? 1 : 0);
}

void Fold::join(Channel& channel, Partial& mine, Steps& steps) const {
    if (!pairs()) return;
    steps.next();
    if (!paired()) return;
    if (active()) mine.join(channel, partner());
    else channel.send(partner(), mine.data());
}

void Fold::spread(Channel& channel, std::span<std::byte> result, Steps& steps) const {
    if (!paired()) return;
    steps.next();
    if (active()) channel.send(partner(), result);
    else channel.receive(partner(), result);
}

}  // namespace sinew::collectives
