// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// Rank r gets the reduction of the buffers of ranks 0 to r (scan) or 0 to r - 1 (exscan).
// Each function's idea, cost and source stand above its definition in collectives/scan/.
void linear_scan(Channel& channel, Arguments const& call);
void linear_exscan(Channel& channel, Arguments const& call);
void recursive_doubling_scan(Channel& channel, Arguments const& call);
void recursive_doubling_exscan(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
