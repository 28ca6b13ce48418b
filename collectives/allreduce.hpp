// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// Every rank gets the reduction of all ranks' buffers.
// Each function's idea, cost and source stand above its definition in collectives/allreduce/.
void linear_allreduce(Channel& channel, Arguments const& call);
void rabenseifner_allreduce(Channel& channel, Arguments const& call);
void recursive_doubling_allreduce(Channel& channel, Arguments const& call);
void ring_allreduce(Channel& channel, Arguments const& call);
void tree_allreduce(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
