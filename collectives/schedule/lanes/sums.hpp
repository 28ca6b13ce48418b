// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "collectives/schedule/lanes/slots.hpp"

namespace sinew::collectives {

/// In each round every rank contributes one segment for every lane, and the rank of each lane combines
/// those of all ranks. Nothing waits.
///
/// `Segments` locates them:
///     ChunkRange input(int lane, std::size_t round)    in the call's input
///     std::byte* sum(std::size_t round)                where the sum for this rank's lane goes
template <class Segments>
class LaneSums {
public:
    LaneSums(LaneSlots const& slots, Arguments const& call, Segments const& segments,
             std::size_t rounds)
        : slots_(slots), call_(call), segments_(segments), rounds_(rounds) {}

    /// A rank that is alone on its node has its input for a sum.
    void have_all() { contributed_ = reduced_ = rounds_; }
    bool contributed_all() const { return contributed_ == rounds_; }
    bool reduced_all() const { return reduced_ == rounds_; }
    /// The rounds of which this rank has the sum.
    std::size_t reduced() const { return reduced_; }

    /// Publishes this rank's segments of the next round. Returns whether it could.
    bool contribute() {
        constexpr std::size_t depth = node::Room::depth;
        if (contributed_all()) return false;
        Room& room = slots_.room();
        if (contributed_ >= depth && !node::reached_by_others(room, slots_.lanes(), Stage::reduced,
                                                              contributed_ + 1 - depth))
            return false;
        for (int step = 1; step <= slots_.lanes(); ++step) {
            int const lane = (room.rank() + step) % slots_.lanes();
            if (lane == room.rank()) continue;
            auto const [offset, bytes] = segments_.input(lane, contributed_);
            node::store_bytes(false, slots_.contribution(room.rank(), contributed_, lane),
                              call_.in + offset, bytes);
        }
        room.publish(Stage::contributed, ++contributed_);
        return true;
    }

    /// Combines the next round of this rank's lane. Returns whether it could.
    bool reduce() {
        Room& room = slots_.room();
        if (!slots_.has_lane() || reduced_all() ||
            !node::reached_by_others(room, room.size(), Stage::contributed, reduced_ + 1))
            return false;
        ChunkRange const range = segments_.input(room.rank(), reduced_);
        node::for_each_tile(range.bytes, call_.element, [&](std::size_t at, std::size_t length) {
            node::Inputs inputs;
            for (int r = 0; r < room.size(); ++r)
                inputs[static_cast<std::size_t>(r)] =
                    slots_.contribution(r, reduced_, room.rank()) + at;
            inputs[static_cast<std::size_t>(room.rank())] = call_.in + range.offset + at;
            call_.combine(segments_.sum(reduced_) + at,
                          {inputs.data(), static_cast<std::size_t>(room.size())}, length);
        });
        room.publish(Stage::reduced, ++reduced_);
        return true;
    }

    /// The rank that the next step waits for; -1: none.
    int missing() const {
        constexpr std::size_t depth = node::Room::depth;
        Room const& room = slots_.room();
        for (int r = 0; slots_.has_lane() && !reduced_all() && r < room.size(); ++r)
            if (r != room.rank() && !room.reached(r, Stage::contributed, reduced_ + 1)) return r;
        for (int lane = 0; !contributed_all() && contributed_ >= depth && lane < slots_.lanes();
             ++lane)
            if (lane != room.rank() &&
                !room.reached(lane, Stage::reduced, contributed_ + 1 - depth))
                return lane;
        return -1;
    }

private:
    using Room = node::Room;
    using Stage = node::Stage;

    LaneSlots const& slots_;
    Arguments const& call_;
    Segments const& segments_;
    std::size_t rounds_;
    std::size_t contributed_ = 0, reduced_ = 0;  // rounds
};

}  // namespace sinew::collectives
