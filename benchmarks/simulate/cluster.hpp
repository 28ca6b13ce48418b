// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include <sinew/comm/algorithm.hpp>

#include "benchmarks/simulate/network.hpp"

namespace sinew::bench {

/// How an allreduce, a reduce_scatter or an allgather is done across nodes.
enum class Plan : std::uint8_t {
    flat_ring,  ///< one ring of all ranks in node order: one flow enters and leaves each node
    flat_tree,  ///< doubling or halving of all ranks: between nodes all ranks of a node send at once
    leaders,    ///< one rank of each node for its ranks: in memory, between these, in memory
    lanes,  ///< a ring for each local rank, in chunks that pass through memory before or after it
};
inline constexpr std::array plans{Plan::flat_ring, Plan::flat_tree, Plan::leaders, Plan::lanes};

std::string_view name(Plan plan);

/// Nodes with equally many ranks each, on one network.
struct Cluster {
    Network network;
    Link memory{0.5e-6, 8e9};        ///< between two ranks of a node, all of which are active
    double reduce_per_byte = 1e-10;  ///< seconds of combining
    int ranks_per_node = 8;
};

/// The collectives for which there are plans.
inline constexpr std::array simulated{Collective::allreduce, Collective::reduce_scatter,
                                      Collective::allgather};

/// Returns the seconds that the tuner's cost model gives a collective of `bytes` in all on `ranks` ranks:
/// the costs of the catalogue's algorithms, with a model of messages within nodes and one of
/// messages between nodes, whose link the senders of a node share. The number of ranks must be a
/// multiple of those per node, or less than that. Throws UsageError otherwise.
double seconds_of(Plan plan, Cluster const& cluster, int ranks, std::size_t bytes,
                  Collective collective = Collective::allreduce);

/// The fastest plan.
Plan fastest(Cluster const& cluster, int ranks, std::size_t bytes,
             Collective collective = Collective::allreduce);

}  // namespace sinew::bench
