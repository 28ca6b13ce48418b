// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/simulate/cluster.hpp"

#include <algorithm>
#include <limits>
#include <sinew/error.hpp>

#include "benchmarks/support/text.hpp"
#include "collectives/catalogue.hpp"
#include "collectives/tuning/model.hpp"

namespace sinew::bench {

namespace {

using collectives::Level;
using collectives::Model;

constexpr int most_chunks = 64;

/// A model in which `senders` share the link at the same time.
Model model_of(Link const& link, int senders, double reduce_per_byte) {
    Level level;
    double const per_byte = senders / link.rate;
    for (std::size_t i = 0; i < Level::sizes.size(); ++i)
        level.seconds[i] = link.latency + static_cast<double>(Level::sizes[i]) * per_byte;
    level.stream_per_byte = per_byte;
    Model model(level);
    model.reduce_per_byte = reduce_per_byte;
    return model;
}

double cost(Collective collective, std::string_view algorithm, int ranks, std::size_t bytes,
            Model const& model) {
    if (ranks < 2) return 0;
    collectives::Shape shape;
    shape.ranks = ranks;
    shape.bytes = bytes;
    shape.count = std::max<std::size_t>(bytes / sizeof(float), 1);
    return collectives::find_algorithm(collective, algorithm).seconds(shape, model);
}

/// A ring in node order: of the hops of a node's ranks one leads to another node. A vector streams as
/// fast as the slowest hop lets it.
Model around_all(Model const& memory, Model const& network, int local) {
    Level level = network.node;
    for (std::size_t i = 0; i < Level::sizes.size(); ++i)
        level.seconds[i] = ((local - 1) * memory.node.seconds[i] + level.seconds[i]) / local;
    level.stream_per_byte = std::max(memory.node.stream_per_byte, level.stream_per_byte);
    Model model(level);
    model.reduce_per_byte = network.reduce_per_byte;
    return model;
}

/// The cheaper one of two algorithms.
double cheaper(Collective collective, std::string_view one, std::string_view other, int ranks,
               std::size_t bytes, Model const& model) {
    return std::min(cost(collective, one, ranks, bytes, model),
                    cost(collective, other, ranks, bytes, model));
}

std::size_t divided(std::size_t bytes, int parts) {
    return (bytes + static_cast<std::size_t>(parts) - 1) / static_cast<std::size_t>(parts);
}

/// The seconds of one chunk in the memory of nodes, and between nodes.
struct Phases {
    double memory, network;
};

/// A vector in chunks, of which one is in the memory's phases while another is in the network's.
/// Returns the seconds for the best number of chunks.
template <class Cost>
double in_chunks(std::size_t bytes, Cost const& cost_of) {
    double best = std::numeric_limits<double>::infinity();
    for (int chunks = 1; chunks <= most_chunks; chunks *= 2) {
        auto const [memory, network] = cost_of(divided(bytes, chunks));
        best = std::min(best, memory + network + (chunks - 1) * std::max(memory, network));
    }
    return best;
}

/// Where a plan runs: models of messages within a node, and between nodes with some senders on each.
struct Sites {
    Cluster const& cluster;
    int ranks, local, nodes;
    Model memory;

    Model network(int senders) const {
        return model_of(cluster.network.link, senders, cluster.reduce_per_byte);
    }
    Model ring() const { return nodes > 1 ? around_all(memory, network(1), local) : memory; }
};

double allreduce_seconds(Plan plan, Sites const& at, std::size_t bytes) {
    using enum Collective;
    switch (plan) {
        case Plan::flat_ring:
            return cost(allreduce, "ring", at.ranks, bytes, at.ring());
        case Plan::flat_tree:
            return cost(allreduce, "recursive_doubling", at.local, bytes, at.memory) +
                   cost(allreduce, "recursive_doubling", at.nodes, bytes, at.network(at.local));
        case Plan::leaders:
            return cheaper(reduce, "tree", "rabenseifner", at.local, bytes, at.memory) +
                   cheaper(allreduce, "recursive_doubling", "rabenseifner", at.nodes, bytes,
                           at.network(1)) +
                   cheaper(broadcast, "binomial", "chain", at.local, bytes, at.memory);
        case Plan::lanes:
            return in_chunks(bytes, [&](std::size_t chunk) {
                std::size_t const lane = divided(chunk, at.local);
                return Phases{cheaper(reduce_scatter, "recursive_halving", "ring", at.local, chunk,
                                      at.memory) +
                                  cheaper(allgather, "bruck", "ring", at.local, chunk, at.memory),
                              cost(allreduce, "ring", at.nodes, lane, at.network(at.local))};
            });
    }
    return 0;
}

double reduce_scatter_seconds(Plan plan, Sites const& at, std::size_t bytes) {
    using enum Collective;
    std::size_t const of_rank = divided(bytes, at.local), of_node = divided(bytes, at.nodes);
    switch (plan) {
        case Plan::flat_ring:
            return cost(reduce_scatter, "ring", at.ranks, bytes, at.ring());
        case Plan::flat_tree:
            return cost(reduce_scatter, "recursive_halving", at.local, bytes, at.memory) +
                   cost(reduce_scatter, "recursive_halving", at.nodes, of_rank,
                        at.network(at.local));
        case Plan::leaders:
            return cheaper(reduce, "tree", "rabenseifner", at.local, bytes, at.memory) +
                   cost(reduce_scatter, "recursive_halving", at.nodes, bytes, at.network(1)) +
                   cheaper(scatter, "binomial", "linear", at.local, of_node, at.memory);
        case Plan::lanes:
            return in_chunks(bytes, [&](std::size_t chunk) {
                return Phases{cheaper(reduce_scatter, "recursive_halving", "ring", at.local, chunk,
                                      at.memory),
                              cost(reduce_scatter, "ring", at.nodes, divided(chunk, at.local),
                                   at.network(at.local))};
            });
    }
    return 0;
}

double allgather_seconds(Plan plan, Sites const& at, std::size_t bytes) {
    using enum Collective;
    std::size_t const of_node = divided(bytes, at.nodes);
    switch (plan) {
        case Plan::flat_ring:
            return cost(allgather, "ring", at.ranks, bytes, at.ring());
        case Plan::flat_tree:
            return cost(allgather, "bruck", at.local, of_node, at.memory) +
                   cost(allgather, "bruck", at.nodes, bytes, at.network(at.local));
        case Plan::leaders:
            return cheaper(gather, "binomial", "linear", at.local, of_node, at.memory) +
                   cost(allgather, "bruck", at.nodes, bytes, at.network(1)) +
                   cheaper(broadcast, "binomial", "chain", at.local, bytes, at.memory);
        case Plan::lanes:
            return in_chunks(bytes, [&](std::size_t chunk) {
                return Phases{cheaper(allgather, "bruck", "ring", at.local, chunk, at.memory),
                              cost(allgather, "ring", at.nodes, divided(chunk, at.local),
                                   at.network(at.local))};
            });
    }
    return 0;
}

}  // namespace

std::string_view name(Plan plan) {
    constexpr std::array<std::string_view, plans.size()> names{"flat ring", "flat tree", "leaders",
                                                               "lanes"};
    return names[static_cast<std::size_t>(plan)];
}

double seconds_of(Plan plan, Cluster const& cluster, int ranks, std::size_t bytes,
                  Collective collective) {
    int const local = std::min(ranks, cluster.ranks_per_node), nodes = ranks / local;
    if (nodes * local != ranks)
        throw UsageError(text(ranks, " ranks with ", local, " per node (must be a multiple)"));
    Sites const at{cluster, ranks, local, nodes,
                   model_of(cluster.memory, 1, cluster.reduce_per_byte)};
    switch (collective) {
        case Collective::allreduce:
            return allreduce_seconds(plan, at, bytes);
        case Collective::reduce_scatter:
            return reduce_scatter_seconds(plan, at, bytes);
        case Collective::allgather:
            return allgather_seconds(plan, at, bytes);
        default:
            throw UsageError(text(sinew::name(collective),
                                  " (is not simulated: allreduce, reduce_scatter or allgather)"));
    }
}

Plan fastest(Cluster const& cluster, int ranks, std::size_t bytes, Collective collective) {
    return *std::min_element(plans.begin(), plans.end(), [&](Plan a, Plan b) {
        return seconds_of(a, cluster, ranks, bytes, collective) <
               seconds_of(b, cluster, ranks, bytes, collective);
    });
}

}  // namespace sinew::bench
