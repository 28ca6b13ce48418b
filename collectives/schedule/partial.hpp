// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

/// A rank's partial result. It is the caller's input, which is not modified, until the first vector
/// is combined with it; from then on it lies in the memory of the result. Scratch is taken only if
/// a vector arrives while that memory is in use.
class Partial {
public:
    /// `to` is the memory of the result. It may be `mine`, or null for scratch.
    Partial(Arguments const& call, std::span<std::byte const> mine, std::byte* to)
        : call_(call), mine_(mine), to_(to) {}

    std::span<std::byte const> data() const { return mine_; }
    /// Receives the whole vector of `peer` and combines it, in rank order.
    void join(Channel& channel, int peer);
    /// Sends `give` and combines `keep` with the peer's data. The other bytes are then undefined.
    void exchange(Channel& channel, int peer, ChunkRange give, ChunkRange keep);
    /// Copies the partial result to the memory of the result, if it is elsewhere, and returns it.
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
