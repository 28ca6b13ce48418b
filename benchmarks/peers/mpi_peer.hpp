// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "benchmarks/peers/peer.hpp"

namespace sinew::bench {

/// The peer whose calls are MPI_Iallreduce and MPI_Wait, and so on.
inline constexpr char const* mpi_nonblocking = "mpi_nonblocking";

/// Makes a peer of the MPI library that this program is built with, called through PMPI_. `name` is
/// openmpi or mpich, which must be that library, mpi for either, or mpi_nonblocking. Throws Unavailable otherwise,
/// and if `comm` does not run over MPI.
std::unique_ptr<Peer> make_mpi_peer(std::string const& name, Communicator& comm);

/// Returns "Open MPI 4.1.4" for the head of the table; empty without MPI.
std::string mpi_version();

}  // namespace sinew::bench
