// SPDX-License-Identifier: Apache-2.0
// Replaces gloo_peer.cpp if Gloo is not installed.
#include <sinew/error.hpp>

#include "benchmarks/peers/gloo_peer.hpp"
#include "benchmarks/support/text.hpp"

namespace sinew::bench {

std::unique_ptr<Peer> make_gloo_peer(std::string const& name, Communicator&) {
    throw Unavailable(text("--peer ", name, " (this program is built without Gloo). Install ",
                           "libgloo-dev and configure again, or leave the flag out"));
}

}  // namespace sinew::bench
