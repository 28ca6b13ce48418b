// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// Every rank gets the buffer of the root.
// Each function's idea, cost and source stand above its definition in collectives/broadcast/.
void binomial_broadcast(Channel& channel, Arguments const& call);
void chain_broadcast(Channel& channel, Arguments const& call);
void linear_broadcast(Channel& channel, Arguments const& call);
void scatter_allgather_broadcast(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
