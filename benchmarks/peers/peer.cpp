// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/peers/peer.hpp"

#include <sinew/error.hpp>

#include "benchmarks/peers/gloo_peer.hpp"
#include "benchmarks/peers/mpi_peer.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

std::vector<std::string> peer_names() {
    return {"openmpi",   "mpich", "mpi", "gloo", "gloo_ring_chunked", "gloo_halving_doubling",
            "gloo_bcube"};
}

std::vector<std::unique_ptr<Peer>> make_peers(std::vector<std::string> const& names,
                                              Communicator& comm) {
    std::vector<std::unique_ptr<Peer>> peers;
    for (std::string const& name : names) {
        bool const gloo = name.starts_with("gloo");
        peers.push_back(gloo ? make_gloo_peer(name, comm) : make_mpi_peer(name, comm));
    }
    return peers;
}

}  // namespace sinew::bench
