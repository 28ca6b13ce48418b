// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "src/pmpi/mpi_job.hpp"

namespace sinew::pmpi {

/// Repeats calls like those that took the most time, in turn through MPI and through shared memory,
/// and returns on rank 0 the lines that tell the time saved; elsewhere, or if no call was taken, an
/// empty string. Sums of `float` or `signed char` stand for all operations, equal parts for the
/// different ones of Allgatherv and the like, the first ranks of rank 0's node for the
/// communicators, and rank 0 is the root. Takes 0.5 s, or longer if three calls of a kind take
/// longer. Collective over MPI_COMM_WORLD, of which this is the current job. Not thread-safe.
std::string time_saved(MpiJob const& job);

}  // namespace sinew::pmpi
