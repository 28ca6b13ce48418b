// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include <sinew/comm/transport.hpp>

namespace sinew {

/// A transport to the other ranks of a job, and what must be kept and called for it.
struct Bootstrap {
    std::string_view name;
    std::unique_ptr<Transport> transport;  ///< over all ranks
    Threading threading = Threading::any;
    std::function<void()> leave = [] {};  ///< called if the World ends without failures; collective
    std::shared_ptr<void> presence = {};  ///< kept until the World ends, even by a failure
};

/// The medium that SINEW_TRANSPORT selects; `automatic` if it is not set.
enum class Medium : std::uint8_t { automatic, socket, mpi };

/// Throws UsageError if SINEW_TRANSPORT has an invalid value.
Medium wanted_medium();

/// Uses the first of these that is present: an agent of `sinew run`; MPI (initialized by the
/// application, or announced by a launcher's variables; not with SINEW_TRANSPORT=socket); a PMIx
/// server; otherwise a world of one rank. Throws Unavailable, rather than make a world of one rank,
/// if a launcher has started several ranks that cannot find each other.
Bootstrap find_bootstrap(int argc, char** argv);

Bootstrap alone_bootstrap();
/// Collective over the job if it initializes MPI. Exists only if built with MPI.
Bootstrap mpi_bootstrap(int argc, char** argv);

/// Returns whether an agent of `sinew run` started this process.
bool started_by_agent();
/// Takes rank and size from the agent. Uses MPI if the agent serves it to this process or the
/// application has initialized it (MPI's rank and size must then match), otherwise the sockets that
/// the agent passed on. Those serve one World per process.
Bootstrap agent_bootstrap(int argc, char** argv, Medium medium);

/// Returns whether a PMIx server (srun, mpirun of Open MPI, an agent) started this process.
bool started_by_pmix();
/// Connects the ranks by sockets, whose addresses they exchange through PMIx. Collective over the
/// job. Throws Unavailable if there is no libpmix.
Bootstrap pmix_bootstrap();

}  // namespace sinew
