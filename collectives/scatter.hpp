// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

// Every rank gets its block of the root's buffer.
// Each function's idea, cost and source stand above its definition in collectives/scatter/.
void binomial_scatter(Channel& channel, Arguments const& call);
void linear_scatter(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
