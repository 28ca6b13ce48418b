// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/nodes.hpp>

#include "src/pool/placement/worker_handle.hpp"

namespace sinew::pool {

/// Workers on acquired nodes, which come and go: each on the node that has most room.
std::unique_ptr<WorkerPlacement> make_acquired_placement(Nodes const& nodes);

}  // namespace sinew::pool
