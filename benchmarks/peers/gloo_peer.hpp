// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "benchmarks/peers/peer.hpp"

namespace sinew::bench {

/// Gloo over TCP on the loopback interface. `name`: gloo for what its newer interface chooses, or
/// gloo_ring_chunked, gloo_halving_doubling, gloo_bcube for one of its allreduce algorithms.
/// Unavailable without Gloo, and when the ranks are on several nodes: Gloo does not authenticate
/// who connects, so we let it listen on 127.0.0.1 only.
std::unique_ptr<Peer> make_gloo_peer(std::string const& name, Communicator& comm);

}  // namespace sinew::bench
