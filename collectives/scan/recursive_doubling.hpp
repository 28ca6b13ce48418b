// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/arguments.hpp"
#include "collectives/channel.hpp"

namespace sinew::collectives {

void recursive_doubling_scan(Channel& channel, Arguments const& call);
void recursive_doubling_exscan(Channel& channel, Arguments const& call);

}  // namespace sinew::collectives
