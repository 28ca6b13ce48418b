// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <sinew/communicator.hpp>
#include <string>
#include <vector>

#include "benchmarks/collectives/workload.hpp"

namespace sinew::bench {

/// One way in which a peer does a call: a contestant.
struct PeerCall {
    /// The name in JSON: "openmpi", or "openmpi:ring" for one algorithm of several. The latter have
    /// no column in the table, where they only take part in the best of all peers.
    std::string name;
    std::function<void()> call;
};

/// Collectives of another library, measured on the same ranks and buffers as sinew's.
class Peer {
public:
    virtual ~Peer() = default;
    /// Returns the calls that do the work of `load`; none if the peer does not support the
    /// operation, type or count. Collective. `load` and the peer must outlive them.
    virtual std::vector<PeerCall> bind(Workload const& load) = 0;
};

/// The name of the MPI library that this program is built with, if it is openmpi or mpich, else mpi.
std::string mpi_peer_name();
/// The names that --peer accepts, besides all.
std::vector<std::string> peer_names();
/// The names that "all" stands for in this program: its MPI, that MPI's other algorithms, and Gloo.
std::vector<std::string> every_peer();

/// Receives why a part of a peer cannot run.
using PeerNote = std::function<void(std::string const&)>;

/// Collective. A peer that is not built in or cannot run on these ranks is a note, and the others
/// take part. Throws Unavailable if that leaves none of those named.
std::vector<std::unique_ptr<Peer>> make_peers(std::vector<std::string> const& names,
                                              Communicator& comm, PeerNote const& note);

}  // namespace sinew::bench
