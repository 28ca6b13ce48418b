// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

void linear_allgather(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
