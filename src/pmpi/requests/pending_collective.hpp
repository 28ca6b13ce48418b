// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "src/pmpi/mpi_abi.hpp"
#include "src/pmpi/statistics.hpp"

namespace sinew::pmpi {

/// A non-blocking collective that this rank has called, in one of the queues (see CallQueue).
class PendingCollective {
public:
    PendingCollective(MpiFunction function, MPI_Comm comm) : function(function), comm(comm) {}
    PendingCollective(PendingCollective const&) = delete;
    PendingCollective& operator=(PendingCollective const&) = delete;
    virtual ~PendingCollective() = default;

    /// Called once when it has ended, by a thread that may call MPI: copies what was received in packed
    /// form to the program's buffers, unless the call has failed, and frees what only such a thread may
    /// free.
    virtual void deliver() = 0;

    MpiFunction const function;
    MPI_Comm const comm;
    std::atomic<bool> ended{false};
    bool failed = false;  ///< valid when it has ended
};

}  // namespace sinew::pmpi
