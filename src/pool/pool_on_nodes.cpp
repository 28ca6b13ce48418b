// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <sinew/nodes.hpp>
#include <sinew/pool.hpp>
#include <utility>

#include "src/nodes/access.hpp"
#include "src/pool/master/master.hpp"
#include "src/pool/master/nodes_placement.hpp"
#include "src/pool/master/serving_master.hpp"

namespace sinew {
namespace {

std::shared_ptr<detail::PoolMaster> master_on(Nodes const& nodes, PoolOptions const& options) {
    if (nodes.serves()) return pool::ServingMaster::make(nodes::Access::served(nodes));
    return pool::Master::make(options,
                              pool::make_nodes_placement(nodes, !options.workers.has_value()));
}

std::shared_ptr<detail::PoolMaster> master_over(Communicator& communicator,
                                                PoolOptions const& options) {
    Nodes nodes(communicator);
    if (!nodes.serves()) return master_on(nodes, options);
    return pool::ServingMaster::make(nodes::Access::take_served(std::move(nodes)));
}

}  // namespace

Pool::Pool(Nodes const& nodes, PoolOptions options)
    : PoolCalls(master_on(nodes, options), {}), exceptions_(std::uncaught_exceptions()) {}

Pool::Pool(Communicator& communicator, PoolOptions options)
    : PoolCalls(master_over(communicator, options), {}), exceptions_(std::uncaught_exceptions()) {}

}  // namespace sinew
