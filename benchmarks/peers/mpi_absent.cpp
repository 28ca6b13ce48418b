// SPDX-License-Identifier: Apache-2.0
// Replaces mpi_peer.cpp, mpi_session.cpp and openmpi_peer.cpp if the library is built without MPI.
#include <sinew/error.hpp>

#include "benchmarks/peers/mpi_peer.hpp"
#include "benchmarks/peers/mpi_session.hpp"
#include "benchmarks/peers/openmpi_peer.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

[[noreturn]] void refuse(std::string const& name) {
    throw Unavailable(text("--peer ", name, " (this program is built without MPI). Build with ",
                           "-DSINEW_WITH_MPI=ON, or leave the flag out"));
}

}  // namespace

std::unique_ptr<Peer> make_mpi_peer(std::string const& name, Communicator&) { refuse(name); }
std::unique_ptr<Peer> make_openmpi_forced(Communicator&, PeerNote const&) {
    refuse(openmpi_forced);
}
std::unique_ptr<Peer> make_openmpi_components(Communicator&, PeerNote const&) {
    refuse(openmpi_components);
}

std::string mpi_version() { return {}; }

MpiSession::MpiSession(int, char**, MpiThread, std::vector<std::string> const&) {}
void MpiSession::leave() { ours_ = false; }
std::string mpi_thread_level() { return {}; }

}  // namespace sinew::bench
