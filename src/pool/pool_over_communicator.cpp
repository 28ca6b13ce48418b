// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <sinew/pool.hpp>
#include <utility>

#include "src/pool/communicator_meeting.hpp"
#include "src/pool/communicator_places.hpp"
#include "src/pool/master.hpp"
#include "src/pool/supervisor_master.hpp"

namespace sinew {
namespace {

std::shared_ptr<detail::PoolMaster> master_over(Communicator& communicator,
                                                PoolOptions const& options) {
    auto& runtime = process::Runtime::instance();
    pool::Meeting meeting(runtime, communicator);
    if (communicator.rank() != 0) return std::make_shared<pool::SupervisorMaster>(meeting.go());
    return std::make_shared<pool::Master>(
        options, pool::make_communicator_places(runtime, meeting.nodes(), meeting.receive(),
                                                !options.workers.has_value()));
}

}  // namespace

Pool::Pool(Communicator& communicator, PoolOptions options)
    : PoolCalls(master_over(communicator, options), {}), exceptions_(std::uncaught_exceptions()) {}

}  // namespace sinew
