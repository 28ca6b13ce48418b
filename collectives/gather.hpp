// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// The root gets the blocks of all ranks.
// Each function's idea, cost and source stand above its definition in collectives/gather/.
void binomial_gather(Channel& channel, Arguments const& call);
void linear_gather(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
