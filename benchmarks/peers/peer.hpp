// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

#include "benchmarks/collectives/workload.hpp"

namespace sinew::bench {

/// Collectives of another library, measured on the same ranks and buffers as sinew's.
class Peer {
public:
    virtual ~Peer() = default;
    /// The name in the table and in JSON: "openmpi".
    virtual std::string name() const = 0;
    /// Returns a call that does the work of `load`, or an empty function if the peer does not
    /// support the operation, type or count. Collective. `load` and the peer must outlive it.
    virtual std::function<void()> bind(Workload const& load) = 0;
};

/// The names that --peer accepts.
std::vector<std::string> peer_names();

/// Collective. Throws Unavailable if a peer is not built in or cannot run on these ranks.
std::vector<std::unique_ptr<Peer>> make_peers(std::vector<std::string> const& names,
                                              Communicator& comm);

}  // namespace sinew::bench
