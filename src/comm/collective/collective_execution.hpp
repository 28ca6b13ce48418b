// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/channel.hpp"
#include "collectives/schedule/scratch.hpp"
#include "collectives/tuning/refinement.hpp"
#include "collectives/tuning/tuner.hpp"
#include "src/comm/collective/invocation.hpp"

namespace sinew::detail {

/// What a communicator performs its calls with.
struct Means {
    collectives::Tuner& tuner;
    collectives::Refinement* refinement;  ///< null: the tuner chooses alone
    collectives::RingOrder const& ring;
    collectives::Scratch& scratch;
};

/// Performs a checked invocation: converts the buffers to the algorithms' arguments, chooses the
/// algorithm, and does the work common to all algorithms (own parts, averages, wider accumulators).
/// Calls Channel::begin() before the first message.
void perform(collectives::Channel& channel, Means const& means, Invocation const& call);

/// Does the same over the memory of a node, without a channel. Returns false, and does nothing, if
/// the call cannot pass through the room.
bool perform_over_memory(node_memory::Room& room, node_memory::Waiter& waiter,
                         collectives::Scratch& scratch, Invocation const& call);

/// Returns the algorithm for a call that does not name one; `call.in` must be the whole vector.
/// `like` has the ranks and the memory that they share; `refinement` may be null.
collectives::Algorithm const& expected_algorithm(collectives::Tuner const& tuner,
                                                 collectives::Refinement const* refinement,
                                                 collectives::Shape const& like,
                                                 Invocation const& call);

}  // namespace sinew::detail
