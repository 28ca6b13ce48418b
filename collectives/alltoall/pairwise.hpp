// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

void pairwise_alltoall(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
