// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "collectives/channel.hpp"
#include "collectives/tuning/model.hpp"

namespace sinew::collectives {

/// What is known about the ranks before a measurement.
struct Setting {
    std::span<int const> node_of;  ///< node of each rank, numbered from 0
    bool crowded = false;          ///< some node has more ranks than CPUs for them
};

/// Measures the model of these ranks. Ranks of a node exchange with their neighbors there; one rank
/// of each node exchanges with those of the next and the previous node; then all ranks of the nodes
/// do, which shows what sharing a network card costs. A level that these ranks lack keeps its
/// defaults. Collective; takes about 10 ms per level, more on slow links. Every rank gets the same
/// model.
Model calibrate(Channel& channel, Setting const& setting);

/// Two times that tell whether a model still holds.
struct Vital {
    double latency;  ///< seconds of an exchange of 8 bytes
    double medium;   ///< seconds of an exchange of 64 KiB
};

/// Measures them within the node or, if the ranks are on several nodes, between nodes. Collective;
/// takes about 1 ms. Every rank gets the same times.
Vital measure_vital(Channel& channel, Setting const& setting);
/// Whether the model's times differ from the measured ones by at most a factor of 1.5.
bool holds(Model const& model, Vital const& measured, bool across_nodes);

}  // namespace sinew::collectives
