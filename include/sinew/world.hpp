// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include <sinew/communicator.hpp>

namespace sinew {

/// All ranks of the job. The constructor joins the job, the destructor leaves it; both are
/// collective.
///
/// The rank is determined from the first of these that is present: an agent of `sinew run`; an MPI
/// launcher (mpirun, mpiexec) or an earlier call of MPI_Init; a PMIx server (srun). Otherwise the
/// world has size 1 and MPI is not used. Data travels over MPI if the ranks have it, otherwise over
/// sockets; SINEW_TRANSPORT=socket or mpi forces one. Calls MPI_Init_thread (MPI_THREAD_MULTIPLE)
/// and MPI_Finalize only if the application has not done so.
///
/// The destructor waits for the other ranks, at most until the deadline, and does not throw: after
/// a failure it informs the other ranks and leaves without them. Communicators split from it must
/// be destroyed before.
///
/// One World per process, constructed and destroyed by the same thread.
class World {
public:
    /// Joins the job. Throws UsageError or Unavailable if the environment is wrong or lacks what it
    /// asks for, and Timeout, PeerLost or BackendError if the ranks cannot connect.
    World();
    /// As World(). The arguments are passed to MPI and not changed.
    World(int argc, char** argv);
    World(World const&) = delete;
    World& operator=(World const&) = delete;
    ~World();

    /// A communicator of all ranks; valid as long as the World.
    Communicator& communicator() noexcept;
    int rank() const noexcept;
    int size() const noexcept;
    NodeLayout const& nodes() const noexcept;
    /// How the rank was determined: "agent", "pmix", "mpi" or "alone".
    std::string_view bootstrap() const noexcept;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace sinew
