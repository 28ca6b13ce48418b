// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include <sinew/communicator.hpp>

namespace sinew {

/// All ranks of the job. Joins on construction, leaves on destruction; both are collective.
///
/// Takes its identity from what it finds: an agent of `sinew run`, else an MPI launcher (mpirun,
/// mpiexec) or an application that called MPI_Init itself, else a PMIx server (srun), else it is
/// alone: size 1, without touching MPI. Data travels over MPI where the ranks have it, else over
/// sockets of our own; SINEW_TRANSPORT=socket or mpi insists. One per process, made and destroyed by
/// the same thread. Calls MPI_Init_thread (MPI_THREAD_MULTIPLE) and MPI_Finalize only if nobody did.
/// Leaving waits for the others, bounded by the deadline, and never throws: after a failure it tells
/// the others and leaves without them. Communicators split from it must be gone by then.
class World {
public:
    World();
    /// As World(); MPI may see the arguments, they are left as they are.
    World(int argc, char** argv);
    World(World const&) = delete;
    World& operator=(World const&) = delete;
    ~World();

    Communicator& communicator() noexcept;
    int rank() const noexcept;
    int size() const noexcept;
    NodeLayout const& nodes() const noexcept;
    /// How the identity was found: "agent", "pmix", "mpi" or "alone".
    std::string_view bootstrap() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew
