// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

#include "benchmarks/collectives/workload.hpp"

namespace sinew::bench {

/// Somebody else's collectives, measured beside ours on the same ranks and buffers.
class Peer {
public:
    virtual ~Peer() = default;
    /// As in the table and in JSON: "openmpi".
    virtual std::string name() const = 0;
    /// A call that does the work of `load`; empty where the peer has no such operation, type or
    /// count. Collective; `load` and the peer must outlive the function.
    virtual std::function<void()> bind(Workload const& load) = 0;
};

/// The names that --peer takes.
std::vector<std::string> peer_names();

/// Collective. Throws Unavailable when a peer is not built in or cannot run on these ranks.
std::vector<std::unique_ptr<Peer>> make_peers(std::vector<std::string> const& names,
                                              Communicator& comm);

}  // namespace sinew::bench
