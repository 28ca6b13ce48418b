// SPDX-License-Identifier: Apache-2.0

#include <exception>
#include <sinew/nodes.hpp>
#include <sinew/pool.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/nodes/access.hpp"
#include "src/pool/master/master.hpp"
#include "src/pool/master/serving_master.hpp"
#include "src/pool/placement/acquired_placement.hpp"
#include "src/pool/placement/nodes_placement.hpp"

namespace sinew {
namespace {

PoolOptions with_workers(PoolOptions options, Workers workers) {
    options.workers = workers;
    return options;
}

std::shared_ptr<detail::PoolMaster> local_master(PoolOptions const& options) {
    return pool::Master::make(options, pool::make_local_placement());
}

// Returns the master of a rank that only serves a pool on nodes; null for other masters.
pool::ServingMaster* served_by(detail::PoolMaster& master) {
    return dynamic_cast<pool::ServingMaster*>(&master);
}

}  // namespace

Pool::Pool(PoolOptions options)
    : PoolCalls(local_master(options), {}), exceptions_(std::uncaught_exceptions()) {}

Pool::Pool(Workers workers, PoolOptions options)
    : Pool(with_workers(std::move(options), workers)) {}

// Does nothing in a forked child: the workers belong to the parent.
Pool::~Pool() {
    if (process::Runtime::forked()) return;
    try {
        if (std::uncaught_exceptions() > exceptions_) terminate();
        else close();
        join();
    } catch (std::exception const& problem) {
        log_warning(text("a pool did not end in order: ", problem.what()));
    }
}

pool::Master& Pool::own() const {
    if (served_by(master()) != nullptr) pool::ServingMaster::refuse();
    return static_cast<pool::Master&>(master());
}

PoolCalls Pool::with(TaskOptions options) const { return {shared_master(), options}; }
void Pool::start_workers() { own().start_workers(); }
bool Pool::wait_until_workers_up(std::chrono::nanoseconds limit) {
    return own().wait_until_workers_up(limit);
}
void Pool::resize(Workers workers) { own().resize(workers); }
PoolStats Pool::stats() const { return own().stats(); }
void Pool::close() {
    if (served_by(master()) == nullptr) own().close();
}
void Pool::terminate() {
    if (auto* const serving = served_by(master())) serving->terminate();
    else own().terminate();
}
void Pool::join() {
    if (auto* const serving = served_by(master())) serving->join();
    else own().join();
}

// ---- on the nodes of a job ----------------------------------------------------------------------

namespace {

std::shared_ptr<detail::PoolMaster> master_on(Nodes const& nodes, PoolOptions const& options) {
    if (nodes.serves()) return pool::ServingMaster::make(nodes::Access::served(nodes));
    if (nodes::Access::acquired(nodes))
        return pool::Master::make(options, pool::make_acquired_placement(nodes));
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
