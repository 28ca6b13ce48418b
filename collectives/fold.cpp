// SPDX-License-Identifier: Apache-2.0
#include "collectives/fold.hpp"

#include <bit>
#include <cstring>

namespace sinew::collectives {

Fold::Fold(int rank, int ranks)
    : real_rank_(rank), ranks_(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))),
      extra_(ranks - ranks_), steps_(std::countr_zero(static_cast<unsigned>(ranks_)) + (extra_ > 0 ? 2 : 0)) {
    if (rank >= 2 * extra_) rank_ = rank - extra_;
    else rank_ = rank % 2 == 0 ? rank / 2 : -1;
}

std::byte const* Fold::in(Channel& channel, Arguments const& call, std::byte const* mine,
                          std::span<std::byte> scratch) const {
    if (real_rank_ >= 2 * extra_) return mine;
    if (!active()) {
        channel.send(real_rank_ - 1, {mine, call.bytes()});
        return mine;
    }
    channel.receive(real_rank_ + 1, scratch);
    call.combine(call.out, mine, scratch.data(), call.bytes());
    return call.out;
}

void Fold::out(Channel& channel, Arguments const& call, std::byte const* mine) const {
    if (active() && mine != call.out && call.bytes() > 0) std::memcpy(call.out, mine, call.bytes());
    if (real_rank_ >= 2 * extra_) return;
    channel.step(steps_, steps_);
    if (active()) channel.send(real_rank_ + 1, call.output());
    else channel.receive(real_rank_ - 1, call.output());
}

}  // namespace sinew::collectives
