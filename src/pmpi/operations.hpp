// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include <sinew/comm/reduce_op.hpp>

#include "collectives/reducer.hpp"
#include "src/pmpi/mpi_abi.hpp"
#include "src/pmpi/statistics.hpp"

namespace sinew::pmpi {

/// An operation on a type, ready to run.
struct Reduction {
    MPI_Datatype type{};
    MPI_Op op{};
    std::uint64_t epoch = 0;                   ///< 0: empty
    CallOutcome outcome = CallOutcome::taken;  ///< otherwise the reason why MPI must execute it
    std::size_t element = 0;                   ///< bytes
    std::optional<ReduceOp> operation;
    std::optional<collectives::Reducer> reducer;
};

/// Returns the reduction for an operation and a type. It depends on nothing else, so all ranks get
/// the same: MPI requires equal operations and types of them. The result is valid until this thread
/// calls again. Thread-safe.
Reduction const& reduction_of(MPI_Datatype type, MPI_Op op);

/// Called once MPI is initialised, and before other threads call MPI.
void prepare_operations();

}  // namespace sinew::pmpi
