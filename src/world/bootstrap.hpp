// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include <sinew/comm/transport.hpp>

namespace sinew {

/// One way for a process to find the other ranks.
struct Bootstrap {
    std::string_view name;
    std::unique_ptr<Transport> transport;  ///< over all ranks
    Threading threading = Threading::any;
    std::function<void()> leave = [] {};  ///< after a life without failures; collective
    std::shared_ptr<void> presence = {};  ///< held until the World has ended, whichever way
};

/// How the ranks are to talk, by SINEW_TRANSPORT; `automatic` when it is not set.
enum class Medium : std::uint8_t { automatic, socket, mpi };

/// Throws UsageError for a value that SINEW_TRANSPORT cannot have.
Medium wanted_medium();

/// The first that finds something: an agent of `sinew run`, MPI (initialised by the application, or
/// a launcher's variables in the environment), any PMIx server, else alone. With SINEW_TRANSPORT
/// =socket a PMIx server comes before MPI. Throws Unavailable when a launcher of several ranks is
/// there, but nothing to answer it: never goes on alone then.
Bootstrap find_bootstrap(int argc, char** argv);

Bootstrap alone_bootstrap();
/// Built with MPI only.
Bootstrap mpi_bootstrap(int argc, char** argv);

/// Whether an agent of `sinew run` started this process.
bool started_by_agent();
/// The identity is the agent's. Over MPI if the agent serves this process MPI or the application has
/// initialised it (MPI must agree with the agent then), else over the sockets that the agent passed
/// on. Those serve one World per process.
Bootstrap agent_bootstrap(int argc, char** argv, Medium medium);

/// Whether a PMIx server (srun, mpirun of Open MPI, an agent) started this process.
bool started_by_pmix();
/// Over sockets of our own; the ranks tell each other their addresses by PMIx. Throws Unavailable
/// when there is no libpmix. Collective over the job.
Bootstrap pmix_bootstrap();

}  // namespace sinew
