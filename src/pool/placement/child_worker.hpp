// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <sinew/node.hpp>

#include "src/pool/placement/worker_handle.hpp"

namespace sinew::pool {

/// Starts a worker on that node; on this one on `cpus`, or those of this process. With the guard
/// held. Throws what process::start_child throws.
std::unique_ptr<WorkerHandle> start_worker(Node const& node, std::optional<cpu_set_t> const& cpus,
                                           std::uint32_t slot, WorkerStart const& start);

}  // namespace sinew::pool
