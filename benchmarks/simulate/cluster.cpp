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

}  // namespace

std::string_view name(Plan plan) {
    constexpr std::array<std::string_view, plans.size()> names{"flat ring", "flat tree", "leaders",
                                                               "lanes"};
    return names[static_cast<std::size_t>(plan)];
}

double seconds_of(Plan plan, Cluster const& cluster, int ranks, std::size_t bytes) {
    using enum Collective;
    int const local = std::min(ranks, cluster.ranks_per_node), nodes = ranks / local;
    if (nodes * local != ranks)
        throw UsageError(text(ranks, " ranks with ", local, " per node (must be a multiple)"));
    Model const memory = model_of(cluster.memory, 1, cluster.reduce_per_byte);
    auto const network = [&](int senders) {
        return model_of(cluster.network.link, senders, cluster.reduce_per_byte);
    };
    switch (plan) {
        case Plan::flat_ring:
            return cost(allreduce, "ring", ranks, bytes,
                        nodes > 1 ? around_all(memory, network(1), local) : memory);
        case Plan::flat_tree:
            return cost(allreduce, "recursive_doubling", local, bytes, memory) +
                   cost(allreduce, "recursive_doubling", nodes, bytes, network(local));
        case Plan::leaders:
            return cheaper(reduce, "tree", "rabenseifner", local, bytes, memory) +
                   cheaper(allreduce, "recursive_doubling", "rabenseifner", nodes, bytes,
                           network(1)) +
                   cheaper(broadcast, "binomial", "chain", local, bytes, memory);
        case Plan::lanes:
            return in_chunks(bytes, [&](std::size_t chunk) {
                std::size_t const lane = divided(chunk, local);
                return Phases{
                    cheaper(reduce_scatter, "recursive_halving", "ring", local, chunk, memory) +
                        cheaper(allgather, "bruck", "ring", local, chunk, memory),
                    cost(allreduce, "ring", nodes, lane, network(local))};
            });
    }
    return 0;
}

Plan fastest(Cluster const& cluster, int ranks, std::size_t bytes) {
    return *std::min_element(plans.begin(), plans.end(), [&](Plan a, Plan b) {
        return seconds_of(a, cluster, ranks, bytes) < seconds_of(b, cluster, ranks, bytes);
    });
}

}  // namespace sinew::bench
