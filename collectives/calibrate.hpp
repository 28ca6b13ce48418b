// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/channel.hpp"
#include "collectives/model.hpp"

namespace sinew::collectives {

/// Measures the model of these ranks: everyone exchanges with its neighbours on the ring, at the
/// same time, at each size until 2 ms are spent on it. Collective; a few ms, and every rank gets the
/// same model. `across_nodes`: whether some messages leave the node.
Model calibrate(Channel& channel, bool across_nodes);

}  // namespace sinew::collectives
