// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// From this size on, ranks say whether their buffers lie in shared memory.
inline constexpr std::size_t least_lent_bytes = std::size_t{32} << 10;

/// Where the buffers of a rank lie, for the other ranks of the node; 0: in its private memory.
/// Travels in the lines of the room.
struct Lent {
    std::uint64_t in = 0, out = 0;

    static Lent of(Room const& room, void const* in, void const* out, std::size_t bytes) {
        auto const* const lendable = room.lendable();
        if (lendable == nullptr) return {};
        return {in == nullptr ? 0 : lendable->offset_of(in, bytes),
                out == nullptr ? 0 : lendable->offset_of(out, bytes)};
    }
    /// What `rank` has published. Requires: its line has arrived.
    static Lent of(NodeCall const& call, int rank) {
        Lent lent;
        std::memcpy(&lent, call.room.line_of(rank), sizeof lent);
        return lent;
    }
    void publish(NodeCall const& call) const {
        std::memcpy(call.room.line(call.waiter), this, sizeof *this);
        call.room.publish_line();
    }
};

}  // namespace sinew::collectives::node
