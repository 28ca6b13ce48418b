// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

/// What a rank has reduced so far. This is the caller's input, which is left alone, until the first
/// vector joins it; from then on it lies where the result belongs. Scratch is taken only when
/// something arrives while that place is in use.
class Partial {
public:
    /// `to` may be `mine`, or null for scratch.
    Partial(Arguments const& call, std::span<std::byte const> mine, std::byte* to)
        : call_(call), mine_(mine), to_(to) {}

    std::span<std::byte const> data() const { return mine_; }
    /// Receives the whole vector of `peer` and joins it, in rank order.
    void join(Channel& channel, int peer);
    /// Sends `give` of it and joins to `keep` what the peer gives. The rest is then undefined.
    void exchange(Channel& channel, int peer, ChunkRange give, ChunkRange keep);
    /// Moves it to where the result belongs, if it is not there, and returns that.
    std::span<std::byte> settle();

private:
    std::byte* to();
    std::span<std::byte> landing(ChunkRange keep);
    void add(Channel const& channel, int peer, ChunkRange keep, std::byte const* other);

    Arguments const& call_;
    std::span<std::byte const> mine_;
    std::byte* to_;
    std::span<std::byte> spare_;
};

}  // namespace sinew::collectives
