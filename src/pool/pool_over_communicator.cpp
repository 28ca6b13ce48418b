// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <sinew/pool.hpp>
#include <utility>

#include "src/nodes/rendezvous.hpp"
#include "src/pool/master/communicator_placement.hpp"
#include "src/pool/master/master.hpp"
#include "src/pool/remote/supervisor_master.hpp"

namespace sinew {
namespace {

std::shared_ptr<pool::Supervisor> go(process::Runtime& runtime, nodes::Rendezvous& rendezvous,
                                     int rank) {
    std::shared_ptr<pool::Supervisor> supervisor;
    rendezvous.go(
        [&](auto link, wire::Secret const& session, cpu_set_t const& cpus) {
            supervisor = std::make_shared<pool::Supervisor>(
                runtime, std::move(link),
                pool::Supervisor::Setup{.rank = rank, .session = session, .cpus = cpus});
            supervisor->begin();
        },
        [&] { supervisor->leave(); });
    return supervisor;
}

std::shared_ptr<detail::PoolMaster> master_over(Communicator& communicator,
                                                PoolOptions const& options) {
    auto& runtime = process::Runtime::instance();
    nodes::Rendezvous rendezvous(runtime, communicator, "pool", pool::relay_options());
    if (communicator.rank() != 0)
        return pool::SupervisorMaster::make(go(runtime, rendezvous, communicator.rank()));
    std::vector<std::shared_ptr<pool::RemoteNode>> ranks(
        static_cast<std::size_t>(communicator.size()));
    rendezvous.receive([&](std::size_t rank, auto link, std::string const& host) {
        ranks[rank] = std::make_shared<pool::RemoteNode>(runtime.loop(), std::move(link), host);
        ranks[rank]->begin();
    });
    return pool::Master::make(
        options, pool::make_communicator_placement(runtime, rendezvous.nodes(), std::move(ranks),
                                                   !options.workers.has_value()));
}

}  // namespace

Pool::Pool(Communicator& communicator, PoolOptions options)
    : PoolCalls(master_over(communicator, options), {}), exceptions_(std::uncaught_exceptions()) {}

}  // namespace sinew
