// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/nodes.hpp>

#include "src/pool/placement/worker_handle.hpp"

namespace sinew::pool {

/// Workers on all of these nodes, in turns; with a worker for each core, as many as each node has
/// cores. On rank 0 only.
std::unique_ptr<WorkerPlacement> make_nodes_placement(Nodes const& nodes, bool by_cores);

}  // namespace sinew::pool
