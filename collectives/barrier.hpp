// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// No rank leaves before all have entered.
// Each function's idea, cost and source stand above its definition in collectives/barrier/.
void dissemination_barrier(Channel& channel, Arguments const& call);
void tree_barrier(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
