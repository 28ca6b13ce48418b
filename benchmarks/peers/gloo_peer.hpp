// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "benchmarks/peers/peer.hpp"

namespace sinew::bench {

/// Makes a peer of Gloo over TCP on the loopback interface. `name` is gloo for the choice of its
/// newer interface, or gloo_ring_chunked, gloo_halving_doubling, gloo_bcube for an allreduce
/// algorithm. Throws Unavailable without Gloo, and if the ranks are on several nodes: Gloo does not
/// authenticate connections, so it listens on 127.0.0.1 only.
std::unique_ptr<Peer> make_gloo_peer(std::string const& name, Communicator& comm);

}  // namespace sinew::bench
