// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"
#include "collectives/node/node_call.hpp"

namespace sinew::collectives {

/// The slots of the node's memory through which the segments of lanes pass between its ranks. The rank
/// of index j has lane j; ranks beyond the lanes have none. In a round, a rank has one slot for each lane
/// that it contributes to, and the rank of a lane one for a result.
class LaneSlots {
public:
    /// Segments have at most `longest` bytes.
    LaneSlots(Channel& channel, NodeGroups const& groups, std::size_t longest)
        : channel_(channel), groups_(groups), slot_bytes_((longest + 63) / 64 * 64) {}

    /// Whether this rank shares its node with others.
    bool shared() const { return groups_.room() != nullptr; }
    node::Room& room() const { return *groups_.room(); }
    int lanes() const { return groups_.lanes(); }
    bool has_lane() const { return groups_.local_rank() < groups_.lanes(); }

    /// Begins an operation in which contributions or results pass, or both, and waits until all ranks of
    /// the node have begun it. All ranks call it with the same arguments. Requires: shared().
    void enter(std::size_t rounds, bool contributions, bool results) {
        result_bytes_ = results ? slot_bytes_ : 0;
        contribution_bytes_ = contributions ? static_cast<std::size_t>(lanes()) * slot_bytes_ : 0;
        node_memory::Waiter& waiter = channel_.waiter();
        room().begin();
        room().reserve(waiter, rounds, contribution_bytes_, result_bytes_);
        room().line(waiter);
        room().publish_line();
        room().await_lines(waiter);
    }
    void leave() {
        if (shared()) room().finish();
    }

    std::byte* contribution(int rank, std::size_t round, int lane) const {
        return room().contribution_of(rank, round, contribution_bytes_,
                                      node::Room::depth * result_bytes_) +
               static_cast<std::size_t>(lane) * slot_bytes_;
    }
    std::byte* result(int lane, std::size_t round) const {
        return room().result_of(lane, round, result_bytes_);
    }

    /// Waits until `step()` returns true, for what a rank of the node does.
    template <class Step>
    void await(int rank, Step const& step) const {
        room().await_any(channel_.waiter(), rank, step);
    }
    /// A rank of this node other than this one.
    int neighbor() const { return (room().rank() + 1) % room().size(); }

private:
    Channel& channel_;
    NodeGroups const& groups_;
    std::size_t slot_bytes_, contribution_bytes_ = 0, result_bytes_ = 0;
};

}  // namespace sinew::collectives
