// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/channel.hpp"
#include "collectives/schedule/scratch.hpp"
#include "collectives/tuning/tuner.hpp"
#include "src/comm/collective/invocation.hpp"

namespace sinew::detail {

/// Carries out a checked invocation: buffers to what the algorithms take, choice of the algorithm,
/// and what belongs to a collective but to no algorithm (own parts, averages, wider accumulators).
/// Sets `under_way` before the first message: what is thrown from then on leaves the ranks apart.
void perform(collectives::Channel& channel, collectives::Tuner& tuner,
             collectives::Scratch& scratch, Invocation const& call, bool& under_way);

/// What a call without a wish of its own would run, `call.in` being the whole vector.
collectives::Algorithm const& expected_algorithm(collectives::Tuner const& tuner, int ranks,
                                                 Invocation const& call);

}  // namespace sinew::detail
