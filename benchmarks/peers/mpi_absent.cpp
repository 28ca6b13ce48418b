// SPDX-License-Identifier: Apache-2.0
// Replaces mpi_peer.cpp if the library is built without MPI.
#include <sinew/error.hpp>

#include "benchmarks/peers/mpi_peer.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

std::unique_ptr<Peer> make_mpi_peer(std::string const& name, Communicator&) {
    throw Unavailable(text("--peer ", name, " (this program is built without MPI). Build with ",
                           "-DSINEW_WITH_MPI=ON, or leave the flag out"));
}

std::string mpi_version() { return {}; }

}  // namespace sinew::bench
