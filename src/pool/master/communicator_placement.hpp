// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "src/nodes/rendezvous.hpp"
#include "src/pool/master/worker_handle.hpp"
#include "src/pool/remote/remote_node.hpp"

namespace sinew::pool {

using nodes::NodeShare;

/// Workers of this process on its own node, and of supervisors on theirs, in turns; with a worker
/// for each core, as many as each node has cores. `ranks`: the other ranks, by rank.
std::unique_ptr<WorkerPlacement> make_communicator_placement(
    process::Runtime& runtime, std::vector<NodeShare> nodes,
    std::vector<std::shared_ptr<RemoteNode>> ranks, bool by_cores);

}  // namespace sinew::pool
