// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// The root gets the reduction of all ranks' buffers.
// Each function's idea, cost and source stand above its definition in collectives/reduce/.
void linear_reduce(Channel& channel, Arguments const& call);
void rabenseifner_reduce(Channel& channel, Arguments const& call);
void tree_reduce(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
