// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collectives/node/node_call.hpp"

namespace sinew::collectives::node {

/// A short operation that this rank enters without waiting for the others, and finishes later. Its
/// message stays readable until all ranks have finished the operation, so that they do not depend on
/// when this rank looks for theirs. Operations are finished in the order in which they were entered,
/// and all of them before the rank begins an operation of another kind. Not thread-safe.
class PostedMessage {
public:
    using Room = node_memory::Room;

    /// Who has a message, and who reads it.
    enum class Pattern : std::uint8_t { all_to_all, from_root, to_root, to_higher };
    /// What the ranks know of the operation before they enter it, equal on all of them.
    struct Plan {
        std::size_t bytes = 0;  ///< of the longest message; at most Room::short_bytes
        Pattern pattern = Pattern::all_to_all;
        int root = -1;
        /// Whether this rank reads its own message, too. One in a swapped place is gone when the other rank has read it.
        bool reads_own = true;
    };

    /// Whether the next operation can be entered: a place for its message is free. `finished` is the
    /// last operation that this rank has finished.
    static bool can_enter(Room& room, Plan const& plan, std::uint64_t finished) {
        if (may_swap(plan) && room.swapped_is_free(finished)) return true;
        std::size_t const places = in_cell(room, plan) ? node_memory::Cells::count
                                   : in_slot(plan)     ? Room::slots_for(plan.bytes)
                                                       : Room::lines;
        return room.is_free(places, finished);
    }

    /// Enters the operation. Requires: can_enter(). `behind`: this rank has entered others that it has
    /// not finished. Call publish() next.
    void enter(Room& room, Plan const& plan, std::uint16_t signature, bool behind) {
        plan_ = plan;
        bool const together = plan.pattern == Pattern::all_to_all;
        bool const swaps = !behind && may_swap(plan) && room.swapped_is_free(room.operation());
        room.sign(signature);
        room.begin();
        if (swaps) room.enter_swapped();
        entry_ = room.entry(together);
        some_behind_ = behind;
        next_ = 0;
        search_ = {};
    }
    /// Publishes this rank's message, if it has one in this pattern.
    void publish(Room& room, std::span<std::byte const> message) const {
        if (plan_.pattern == Pattern::from_root && room.rank() != plan_.root) return;
        std::byte* const to = in_cell(room, plan_) ? room.free_cell(plan_.bytes)
                              : in_slot(plan_)     ? room.free_short_slot(plan_.bytes)
                                                   : room.free_line();
        bool const one_way = plan_.pattern != Pattern::all_to_all;
        if (in_slot(plan_) && one_way) store_ahead(room, to, message);
        else copy(to, message);
        if (in_cell(room, plan_)) room.publish_cell(plan_.bytes);
        else room.publish_line(some_behind_);
    }

    /// Whether the messages that this rank needs are here; otherwise what the first of the others is,
    /// which awaited() names.
    Room::Arrival look(Room const& room) {
        for (; next_ < room.size(); ++next_, search_ = {}) {
            if (!needs(room, next_)) continue;
            auto const found = arrival_from(room, next_);
            if (found == Room::Arrival::missing) {
                bool const elsewhere = room.is_elsewhere(search_, next_, entry_.operation);
                return elsewhere ? Room::Arrival::of_another_call : found;
            }
            if (found == Room::Arrival::of_another_call) return found;
            if (found == Room::Arrival::here_behind) some_behind_ = true;
        }
        return Room::Arrival::here;
    }
    /// The rank whose message was missing at the last look.
    int awaited(Room const& room) const { return next_ < room.size() ? next_ : room.size() - 1; }
    /// Whether this rank waits for the message of `rank`.
    bool needs(Room const& room, int rank) const {
        if (rank == room.rank()) return false;
        switch (plan_.pattern) {
            case Pattern::from_root:
                return rank == plan_.root;
            case Pattern::to_root:
                return room.rank() == plan_.root;
            case Pattern::to_higher:
                return rank < room.rank();
            case Pattern::all_to_all:
                break;
        }
        return true;
    }
    Room::Arrival arrival_from(Room const& room, int rank) const {
        return in_cell(room, plan_) ? room.cell_arrival(entry_, rank, plan_.bytes)
                                    : room.line_arrival(entry_, rank);
    }
    /// The message of a rank that is here, or of this rank.
    std::byte const* of(Room const& room, int rank) const {
        return in_cell(room, plan_) ? room.cell_of(entry_, rank, plan_.bytes)
               : in_slot(plan_)     ? room.short_slot_of(entry_, rank, plan_.bytes)
                                    : room.line_of(entry_, rank);
    }

    /// Finishes the operation: this rank reads no message any more. Returns whether it has published
    /// that; if all wait for all, its next message says it.
    bool finish(Room& room) const {
        room.note_read(entry_);
        if (plan_.pattern == Pattern::all_to_all && !some_behind_) {
            room.note_finished(entry_.operation - 1);
            return false;
        }
        room.publish_finished(entry_.operation);
        return true;
    }
    std::uint64_t operation() const { return entry_.operation; }

private:
    /// Several cells lie in one cache line, for a writer that runs ahead of those who read.
    static bool in_cell(Room const& room, Plan const& plan) {
        return plan.pattern == Pattern::from_root && plan.bytes <= room.cell_bytes();
    }
    static bool in_slot(Plan const& plan) { return plan.bytes > Room::line_bytes; }
    static bool may_swap(Plan const& plan) {
        return plan.pattern == Pattern::all_to_all && !plan.reads_own &&
               plan.bytes <= Room::swapped_bytes;
    }

    Plan plan_;
    Room::Entry entry_;
    bool some_behind_ = false;  // a rank, or this one, entered it before it had finished all before
    int next_ = 0;              // the messages of all ranks below are here
    Room::Search search_;       // for that of this one
};

}  // namespace sinew::collectives::node
