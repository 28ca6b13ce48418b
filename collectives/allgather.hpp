// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// Every rank gets the blocks of all ranks.
// Each function's idea, cost and source stand above its definition in collectives/allgather/.
void bruck_allgather(Channel& channel, Arguments const& call);
void bruck_allgatherv(Channel& channel, Arguments const& call);
void linear_allgather(Channel& channel, Arguments const& call);
void recursive_doubling_allgather(Channel& channel, Arguments const& call);
void ring_allgather(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
