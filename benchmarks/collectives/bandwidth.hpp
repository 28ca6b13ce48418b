// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <sinew/comm/algorithm.hpp>
#include <sinew/comm/topology.hpp>

namespace sinew::bench {

/// algbw: bytes of the vector over time, in GB/s (1e9).
double algorithm_bandwidth(std::size_t bytes, double us);

/// busbw / algbw as in PERFORMANCE.md of nccl-tests: the share of the vector that must cross the
/// busiest rank's link, so that busbw compares with the hardware whatever the number of ranks.
/// scan and exscan are not in there; the last rank must receive one vector: 1.
double bus_factor(Collective collective, int ranks);

/// The same for the link of the busiest node: bytes that must cross it / bytes of the vector. With
/// one rank per node it is bus_factor. On a single node each rank counts as a node.
double link_factor(Collective collective, NodeLayout const& layout);

}  // namespace sinew::bench
