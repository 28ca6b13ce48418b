// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/peer.hpp"

#include <sinew/error.hpp>

#include "benchmarks/peers/gloo_peer.hpp"
#include "benchmarks/peers/mpi_peer.hpp"
#include "benchmarks/peers/openmpi_peer.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

std::unique_ptr<Peer> make_peer(std::string const& name, Communicator& comm, PeerNote const& note) {
    if (name.starts_with("gloo")) return make_gloo_peer(name, comm);
    if (name == openmpi_forced) return make_openmpi_forced(comm, note);
    if (name == openmpi_components) return make_openmpi_components(comm, note);
    return make_mpi_peer(name, comm);
}

}  // namespace

std::string mpi_peer_name() {
    std::string const vendor = SINEW_MPI_VENDOR;
    return vendor.empty() || vendor == "other" ? "mpi" : vendor;
}

std::vector<std::string> peer_names() {
    return {"openmpi",
            openmpi_forced,
            openmpi_components,
            "mpich",
            "mpi",
            mpi_nonblocking,
            "gloo",
            "gloo_ring_chunked",
            "gloo_halving_doubling",
            "gloo_bcube"};
}

std::vector<std::string> every_peer() {
    std::vector<std::string> peers{mpi_peer_name()};
    if (peers.front() == "openmpi") {
        peers.emplace_back(openmpi_forced);
        peers.emplace_back(openmpi_components);
    }
    for (char const* gloo : {"gloo", "gloo_ring_chunked", "gloo_halving_doubling", "gloo_bcube"})
        peers.emplace_back(gloo);
    return peers;
}

std::vector<std::unique_ptr<Peer>> make_peers(std::vector<std::string> const& names,
                                              Communicator& comm, PeerNote const& note) {
    std::vector<std::unique_ptr<Peer>> peers;
    std::vector<std::string> reasons;
    for (std::string const& name : names) {
        try {
            peers.push_back(make_peer(name, comm, note));
        } catch (Unavailable const& reason) {  // on all ranks
            reasons.emplace_back(reason.what());
        }
    }
    if (peers.empty() && !reasons.empty()) throw Unavailable(reasons.front());
    for (std::string const& reason : reasons) note(reason);
    return peers;
}

}  // namespace sinew::bench
