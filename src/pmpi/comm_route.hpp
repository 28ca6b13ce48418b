// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "src/node_memory/arena/arena.hpp"
#include "src/node_memory/room.hpp"
#include "src/pmpi/mpi_job.hpp"

namespace sinew::pmpi {

class BackgroundQueue;
class PostingQueue;

/// How the collectives of one communicator are executed: decided by all its ranks together in its
/// first collective, and kept as an attribute of the communicator, which MPI deletes with it.
struct CommRoute {
    MpiJob* job = nullptr;                    ///< null: the ranks are not processes
    std::unique_ptr<node_memory::Room> room;  ///< null: MPI executes them
    CallOutcome why_not = CallOutcome::off;   ///< the reason, if there is no room
    int rank = 0, size = 1;
    std::vector<int> local_ranks;                 ///< on the node, by rank; only with a room
    std::atomic<bool> lost{false};                ///< a call has failed
    std::unique_ptr<PostingQueue> posted;         ///< with a room; begins with the first call
    std::unique_ptr<BackgroundQueue> background;  ///< null until the first call
    /// Whether the communicator has not been freed: a persistent request may outlive it.
    std::shared_ptr<std::atomic<bool>> exists = std::make_shared<std::atomic<bool>>(true);

    CommRoute();
    CommRoute(CommRoute const&) = delete;
    ~CommRoute();

    /// Throws std::runtime_error if a call has failed.
    void require_not_lost() const;
    /// The communicator or, when it has been freed, MPI_COMM_WORLD: where errors are reported.
    MPI_Comm reachable(MPI_Comm comm) const { return *exists ? comm : MPI_COMM_WORLD; }
    /// Waits for the non-blocking calls that have not ended, which every other call in the room must
    /// follow.
    void end_posted() const;
    /// The queue of the longer non-blocking calls, which the first one makes.
    BackgroundQueue& in_background();
    /// The rank in MPI_COMM_WORLD of a rank of the communicator.
    int world_rank(int of) const {
        return job->world_rank(local_ranks[static_cast<std::size_t>(of)]);
    }
};

/// Grows whenever a communicator, type or operation is freed: its handle may come back for another.
std::uint64_t handle_epoch();
void handle_freed();

/// Returns the route of a communicator, which the first call makes; that call is collective over
/// its ranks, and calls MPI. Returns null, and the reason, if there is none for this call. The
/// result is valid until the communicator is freed.
CommRoute* find_route(MPI_Comm comm, CallOutcome& why_not);
/// The same for a non-blocking call, which cannot make a route.
CommRoute* find_made_route(MPI_Comm comm, CallOutcome& why_not);

/// Makes a route with a room of its own, for short messages, to the ranks of a communicator that has another. Collective over
/// these. Returns null, and the reason, if there is no memory. Throws PeerLost and Timeout.
std::unique_ptr<CommRoute> make_own_route(CommRoute& of, CallOutcome& why_not);

/// Called once MPI is initialised, and before other threads call MPI.
void prepare_routes();

}  // namespace sinew::pmpi
