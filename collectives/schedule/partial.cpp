// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/partial.hpp"

#include "collectives/schedule/copy.hpp"

namespace sinew::collectives {

std::byte* Partial::to() {
    if (to_ == nullptr) to_ = call_.scratch->take(mine_.size()).data();
    return to_;
}

std::span<std::byte> Partial::landing(ChunkRange keep) {
    if (mine_.data() != to()) return {to_ + keep.offset, keep.bytes};
    if (spare_.size() < keep.bytes) spare_ = call_.scratch->take(keep.bytes);
    return spare_.first(keep.bytes);
}

void Partial::add(Channel const& channel, int peer, ChunkRange keep, std::byte const* other) {
    std::byte const* const mine = mine_.data() + keep.offset;
    bool const higher = peer > channel.rank();
    call_.combine(to_ + keep.offset, higher ? mine : other, higher ? other : mine, keep.bytes);
    mine_ = {to_, mine_.size()};
}

void Partial::join(Channel& channel, int peer) {
    ChunkRange const whole{0, mine_.size()};
    std::span<std::byte> const incoming = landing(whole);
    channel.receive(peer, incoming);
    add(channel, peer, whole, incoming.data());
}

void Partial::exchange(Channel& channel, int peer, ChunkRange give, ChunkRange keep) {
    std::span<std::byte> const incoming = landing(keep);
    channel.exchange(peer, mine_.subspan(give.offset, give.bytes), peer, incoming);
    add(channel, peer, keep, incoming.data());
}

std::span<std::byte> Partial::settle() {
    copy(to(), mine_);
    mine_ = {to_, mine_.size()};
    return {to_, mine_.size()};
}

}  // namespace sinew::collectives
