// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "collectives/schedule/lanes/slots.hpp"

namespace sinew::collectives {

/// In each round the rank of each lane delivers one segment of its output, and all others of the node
/// collect it in theirs. Nothing waits.
///
/// `Segments` locates them, in the call's output:
///     ChunkRange output(int lane, std::size_t round)
template <class Segments>
class LaneResults {
public:
    LaneResults(LaneSlots const& slots, Arguments const& call, Segments const& segments,
                std::size_t rounds)
        : slots_(slots), call_(call), segments_(segments), rounds_(rounds) {}

    bool done() const {
        return collected_ == rounds_ && (!slots_.has_lane() || delivered_ == rounds_);
    }

    /// Publishes the next segment of this rank's lane, of which `complete` are in its output. Returns
    /// whether it could.
    bool deliver(std::size_t complete) {
        constexpr std::size_t depth = node::Room::depth;
        if (!slots_.has_lane() || delivered_ == rounds_ || delivered_ >= complete) return false;
        Room& room = slots_.room();
        if (delivered_ >= depth &&
            !node::reached_by_others(room, room.size(), Stage::consumed, delivered_ + 1 - depth))
            return false;
        auto const [offset, bytes] = segments_.output(room.rank(), delivered_);
        node::store_bytes(false, slots_.result(room.rank(), delivered_), call_.out + offset, bytes);
        room.publish(Stage::delivered, ++delivered_);
        return true;
    }

    /// Copies the next segment of all other lanes. Returns whether it could.
    bool collect() {
        Room& room = slots_.room();
        if (collected_ == rounds_ ||
            !node::reached_by_others(room, slots_.lanes(), Stage::delivered, collected_ + 1))
            return false;
        for (int lane = 0; lane < slots_.lanes(); ++lane) {
            if (lane == room.rank()) continue;
            auto const [offset, bytes] = segments_.output(lane, collected_);
            node::store_bytes(false, call_.out + offset, slots_.result(lane, collected_), bytes);
        }
        room.publish(Stage::consumed, ++collected_);
        return true;
    }

    /// The rank whose delivery is the next to collect, or which has yet to collect one; -1: none.
    int missing() const {
        constexpr std::size_t depth = node::Room::depth;
        Room const& room = slots_.room();
        for (int lane = 0; collected_ < rounds_ && lane < slots_.lanes(); ++lane)
            if (lane != room.rank() && !room.reached(lane, Stage::delivered, collected_ + 1))
                return lane;
        for (int r = 0;
             slots_.has_lane() && delivered_ < rounds_ && delivered_ >= depth && r < room.size();
             ++r)
            if (r != room.rank() && !room.reached(r, Stage::consumed, delivered_ + 1 - depth))
                return r;
        return -1;
    }

private:
    using Room = node::Room;
    using Stage = node::Stage;

    LaneSlots const& slots_;
    Arguments const& call_;
    Segments const& segments_;
    std::size_t rounds_;
    std::size_t delivered_ = 0, collected_ = 0;  // rounds
};

}  // namespace sinew::collectives
