// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "collectives/channel.hpp"
#include "collectives/tuning/model.hpp"

namespace sinew::collectives {

/// What is known of the ranks before anything is measured.
struct Setting {
    bool across_nodes = false;  ///< some messages leave the node
    bool crowded = false;       ///< some node has more ranks than cpus for them
};

/// Measures the model of these ranks: everyone exchanges with its neighbours on the ring, at the
/// same time, at each size up to those that take long. Collective; some 10 ms, more on slow links;
/// every rank gets the same model.
Model calibrate(Channel& channel, Setting const& setting);

}  // namespace sinew::collectives
