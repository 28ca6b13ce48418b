// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "collectives/channel.hpp"
#include "collectives/schedule/ring_order.hpp"
#include "collectives/schedule/segments.hpp"
#include "collectives/schedule/transfers.hpp"

namespace sinew::collectives {

/// A pipeline around the ring: in step k every rank sends a block to the next rank and receives one
/// from the previous, which it sends in step k + 1. Blocks travel in segments, and there is no
/// barrier between steps: a segment is sent as soon as the same segment of the previous step has
/// arrived and been processed, while up to `window` others are in flight.
///
/// `Place` locates the data, by step and segment:
///     std::span<std::byte const> outgoing(int step, std::size_t segment)   what to send
///     std::span<std::byte> landing(int step, std::size_t segment, int slot)  where to receive
///     void arrived(int step, std::size_t segment, int slot)                processes a segment
/// `slot` (0 .. window-1) is reserved for the segment between landing and arrived. A place whose own
/// data come by and by also has
///     bool has(std::size_t index)          whether they are there for the segment sent as number `index`
template <class Place>
class RingStream {
public:
    /// A receive may overwrite what was sent `reuse` segments earlier; 0: nothing sent.
    RingStream(Channel& channel, RingNeighbors const& ring, Scratch& scratch, Place& place,
               int steps, std::size_t segments, int window, std::size_t reuse)
        : channel_(channel), next_(ring.next), previous_(ring.previous), place_(place),
          steps_(steps), segments_(segments), window_(static_cast<std::size_t>(window)),
          reuse_(reuse), total_(static_cast<std::size_t>(steps) * segments),
          receives_(scratch, window_), sends_(scratch, window_) {}

    void run() {
        int idle_polls = 0;
        while (!done()) {
            if (advance()) idle_polls = 0;
            else if (++idle_polls > channel_.spins()) wait(idle_polls - channel_.spins() - 1);
        }
    }

    bool done() const { return received_ == total_ && sent_ == total_; }
    /// Does what can be done without waiting. Returns whether a transfer has ended.
    bool advance() {
        post_receives();
        start_sends();
        bool const came = finish_receive();
        bool const went = finish_send();
        return came || went;
    }
    /// Does one round of a wait for the transfers in progress; see Channel::idle.
    void wait(int round) {
        bool const receiving = received_ < posted_;
        channel_.step(step_of(receiving ? received_ : sent_) + 1, steps_);
        channel_.idle(round, receiving ? previous_ : next_);
    }
    /// The segments that have arrived and been processed, counted over all steps.
    std::size_t received() const { return received_; }

private:
    bool place_has(std::size_t index) const {
        if constexpr (requires { place_.has(index); }) return place_.has(index);
        else return true;
    }
    int step_of(std::size_t index) const { return static_cast<int>(index / segments_); }
    int slot_of(std::size_t index) const { return static_cast<int>(index % window_); }

    void post_receives() {
        while (posted_ < total_ && posted_ < received_ + window_ &&
               (reuse_ == 0 || posted_ < sent_ + reuse_)) {
            auto const bytes =
                place_.landing(step_of(posted_), posted_ % segments_, slot_of(posted_));
            receives_[posted_] = channel_.start_receive(previous_, bytes);
            ++posted_;
        }
    }

    void start_sends() {
        while (started_ < total_ && started_ < sent_ + window_ &&
               started_ < received_ + segments_ && place_has(started_)) {
            auto const bytes = place_.outgoing(step_of(started_), started_ % segments_);
            sends_[started_] = channel_.start_send(next_, bytes);
            ++started_;
        }
    }

    bool finish_receive() {
        if (received_ == posted_ || !place_has(received_ + segments_)) return false;
        if (!receives_[received_].test()) return false;
        place_.arrived(step_of(received_), received_ % segments_, slot_of(received_));
        ++received_;
        return true;
    }

    bool finish_send() {
        if (sent_ == started_ || !sends_[sent_].test()) return false;
        ++sent_;
        return true;
    }

    Channel& channel_;
    int next_;
    int previous_;
    Place& place_;
    int steps_;
    std::size_t segments_;  // segments of one step
    std::size_t window_;
    std::size_t reuse_;
    std::size_t total_;
    // Counts of segments over all steps: receives posted and processed, sends started and done.
    std::size_t posted_ = 0, received_ = 0, started_ = 0, sent_ = 0;
    Transfers receives_, sends_;
};

}  // namespace sinew::collectives
