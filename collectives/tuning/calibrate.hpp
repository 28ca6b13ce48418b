// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/channel.hpp"
#include "collectives/tuning/model.hpp"

namespace sinew::collectives {

/// What is known about the ranks before a measurement.
struct Setting {
    bool across_nodes = false;  ///< some messages leave the node
    bool crowded = false;       ///< some node has more ranks than CPUs for them
};

/// Measures the model of these ranks: all exchange with their neighbors on the ring at the same
/// time, with increasing sizes until an exchange takes long. Collective. Takes about 10 ms, more on
/// slow links. Every rank gets the same model.
Model calibrate(Channel& channel, Setting const& setting);

}  // namespace sinew::collectives
