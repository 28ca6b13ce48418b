// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// Every rank sends one block to each rank.
// Each function's idea, cost and source stand above its definition in collectives/alltoall/.
void bruck_alltoall(Channel& channel, Arguments const& call);
void linear_alltoall(Channel& channel, Arguments const& call);
void pairwise_alltoall(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
