// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// Every rank gets its block of the reduction of all ranks' buffers.
// Each function's idea, cost and source stand above its definition in collectives/reduce_scatter/.
void linear_reduce_scatter(Channel& channel, Arguments const& call);
void recursive_halving_reduce_scatter(Channel& channel, Arguments const& call);
void ring_reduce_scatter(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
