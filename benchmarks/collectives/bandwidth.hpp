// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <sinew/comm/algorithm.hpp>
#include <sinew/comm/topology.hpp>

namespace sinew::bench {

/// algbw: bytes of the vector divided by time, in GB/s (1e9).
double algorithm_bandwidth(std::size_t bytes, double us);

/// busbw / algbw as in PERFORMANCE.md of nccl-tests: the share of the vector that must cross the
/// link of the busiest rank, so that busbw is comparable with the hardware for any number of ranks.
/// nccl-tests lacks scan and exscan; it is 1 for them, as the last rank must receive one vector.
double bus_factor(Collective collective, int ranks);

/// Like bus_factor, but for the link of the busiest node: bytes that must cross it / bytes of the
/// vector. It equals bus_factor with one rank per node. On one node each rank counts as a node.
double link_factor(Collective collective, NodeLayout const& layout);

}  // namespace sinew::bench
