// SPDX-License-Identifier: Apache-2.0
#include "collectives/catalogue.hpp"

#include <array>
#include <bit>

#include <sinew/error.hpp>

#include "collectives/algorithms.hpp"
#include "collectives/node/node_call.hpp"
#include "collectives/tuning/costs.hpp"
#include "src/base/text.hpp"

namespace sinew::collectives {

namespace {

using namespace costs;
using S = Shape const&;
using M = Model const&;

bool always(S) { return true; }
bool if_commutative(S s) { return s.commutative; }
bool if_shared(S s) { return s.shared; }
bool if_by_node(S s) { return s.by_node; }
bool if_by_node_and_commutative(S s) { return s.by_node && s.commutative; }
bool if_power_of_two(S s) { return std::has_single_bit(static_cast<unsigned>(s.ranks)); }

/// Runs a collective over the memory that the ranks share.
template <void (*run)(node::NodeCall const&)>
void over_memory(Channel& channel, Arguments const& call) {
    run({*channel.room(), channel.waiter(), call});
}

template <void (*run)(node::NodeCall const&)>
constexpr Algorithm shared(Collective collective, Order order) {
    // Every byte is written once and read once by each rank that needs it.
    return {collective,      "shared",  "ranks of one node: through the memory that they share",
            order,           if_shared, [](S s, M m) { return m.reduce(3 * s.bytes); },
            over_memory<run>};
}

// clang-format off
constexpr std::array allreduce{
    Algorithm{Collective::allreduce, "linear", "the reference: rank 0 combines all in rank order",
              Order::linear, always,
              [](S s, M m) { return 2 * burst(s, m, s.bytes) + others(s) * m.reduce(s.bytes); },
              linear_allreduce},
    Algorithm{Collective::allreduce, "recursive_doubling", "short vectors: fewest steps",
              Order::tree, always,
              recursive_doubling, recursive_doubling_allreduce},
    Algorithm{Collective::allreduce, "rabenseifner", "longer vectors: least bytes in few steps",
              Order::tree, always,
              rabenseifner, rabenseifner_allreduce},
    Algorithm{Collective::allreduce, "tree", "networks that carry few messages at a time",
              Order::tree, always,
              [](S s, M m) { return 2 * tree(s, m, s.bytes) + rounds(s) * m.reduce(s.bytes); },
              tree_allreduce},
    Algorithm{Collective::allreduce, "ring", "long vectors: least bytes, transfer and reduction overlap",
              Order::ring, if_commutative,
              [](S s, M m) { return ring(m, 2 * others(s), block(s)) + others(s) * m.reduce(block(s)); },
              ring_allreduce},
    Algorithm{Collective::allreduce, "leaders", "several ranks a node, short vectors: in memory, then one rank of each node",
              Order::nodes_tree, if_by_node_and_commutative,
              [](S s, M m) { return in_memory(m, s.bytes, 2) + among_nodes(s, m, recursive_doubling); },
              leaders_allreduce},
    Algorithm{Collective::allreduce, "lanes_rabenseifner", "the same, longer vectors: least bytes in few steps",
              Order::nodes_tree, if_by_node_and_commutative,
              [](S s, M m) { return in_memory(m, s.bytes, 2) + in_lanes(s, m, rabenseifner); },
              lanes_rabenseifner_allreduce},
    Algorithm{Collective::allreduce, "lanes", "several ranks a node, long vectors: a ring of nodes per rank of a node, memory and network overlap",
              Order::nodes_ring, if_by_node_and_commutative,
              [](S s, M m) { return lanes(s, m, 2, 3); },
              lanes_allreduce},
    shared<node::allreduce>(Collective::allreduce, Order::linear),
};

constexpr std::array reduce{
    Algorithm{Collective::reduce, "linear", "the reference: the root combines all in rank order",
              Order::linear, always,
              [](S s, M m) { return burst(s, m, s.bytes) + others(s) * m.reduce(s.bytes); },
              linear_reduce},
    Algorithm{Collective::reduce, "tree", "short vectors: fewest steps",
              Order::tree, always,
              reducing_tree, tree_reduce},
    Algorithm{Collective::reduce, "rabenseifner", "long vectors: least bytes, all ranks combine",
              Order::tree, always,
              rabenseifner_to_root, rabenseifner_reduce},
    Algorithm{Collective::reduce, "leaders", "several ranks a node, short vectors: in memory, then a tree of nodes",
              Order::nodes_tree, if_by_node_and_commutative,
              [](S s, M m) { return in_memory(m, s.bytes, 1) + among_nodes(s, m, reducing_tree); },
              leaders_reduce},
    Algorithm{Collective::reduce, "leaders_rabenseifner", "the same, long vectors: least bytes",
              Order::nodes_tree, if_by_node_and_commutative,
              [](S s, M m) { return in_memory(m, s.bytes, 1) + among_nodes(s, m, rabenseifner_to_root); },
              leaders_rabenseifner_reduce},
    shared<node::reduce>(Collective::reduce, Order::linear),
};

constexpr auto reduce_scatter_of(Collective collective) {
    return std::array{
        Algorithm{collective, "linear", "few ranks: each block straight to its owner",
                  Order::linear, always,
                  [](S s, M m) { return burst_of_all(s, m, block(s)) + others(s) * m.reduce(block(s)); },
                  linear_reduce_scatter},
        Algorithm{collective, "recursive_halving", "short vectors: fewest steps",
                  Order::tree, always,
                  halving_to_blocks, recursive_halving_reduce_scatter},
        Algorithm{collective, "ring", "long vectors: transfer and reduction overlap",
                  Order::ring, if_commutative,
                  [](S s, M m) { return ring(m, others(s), block(s)) + others(s) * m.reduce(block(s)); },
                  ring_reduce_scatter},
        Algorithm{collective, "leaders", "several ranks a node, short vectors: in memory, then one rank of each node",
                  Order::nodes_tree, if_by_node_and_commutative,
                  [](S s, M m) { return in_memory(m, s.bytes, 1) + copy(m, s.bytes) +
                                        among_nodes(s, m, halving_to_blocks) + in_memory(m, block_of_node(s, m), 1); },
                  leaders_reduce_scatter},
        Algorithm{collective, "lanes", "several ranks a node, long vectors: a ring of nodes per rank of a node, memory and network overlap",
                  Order::nodes_ring, if_by_node_and_commutative,
                  [](S s, M m) { return lanes(s, m, 1, 2); },
                  lanes_reduce_scatter},
        shared<node::reduce_scatter>(collective, Order::linear),
    };
}
constexpr auto reduce_scatter = reduce_scatter_of(Collective::reduce_scatter);
constexpr auto reduce_scatter_block = reduce_scatter_of(Collective::reduce_scatter_block);

constexpr Algorithm allgather_linear(Collective collective) {
    return {collective, "linear", "few ranks: each block straight to all",
            Order::none, always,
            [](S s, M m) { return burst_of_all(s, m, block(s)); },
            linear_allgather};
}
constexpr Algorithm allgather_ring(Collective collective) {
    return {collective, "ring", "long blocks: neighbours only, in segments",
            Order::none, always,
            [](S s, M m) { return ring(m, others(s), block(s)); },
            ring_allgather};
}
constexpr Algorithm allgather_leaders(Collective collective) {
    return {collective, "leaders", "several ranks a node, short blocks: in memory, then one rank of each node",
            Order::none, if_by_node,
            [](S s, M m) { return in_memory(m, block_of_node(s, m), 1) + copy(m, 2 * s.bytes) +
                                  among_nodes(s, m, doublings) + in_memory(m, s.bytes, 1); },
            leaders_allgather};
}
constexpr Algorithm allgather_lanes(Collective collective) {
    return {collective, "lanes", "several ranks a node, long blocks: a ring of nodes per rank of a node, memory and network overlap",
            Order::none, if_by_node,
            [](S s, M m) { return in_memory(m, block_of_node(s, m), 1) + lanes(s, m, 1, 2); },
            lanes_allgather};
}
constexpr std::array allgather{
    allgather_linear(Collective::allgather),
    Algorithm{Collective::allgather, "recursive_doubling", "short blocks, a power of two ranks: fewest steps",
              Order::none, if_power_of_two, doublings, recursive_doubling_allgather},
    Algorithm{Collective::allgather, "bruck", "short blocks, any number of ranks: fewest steps",
              Order::none, always, doublings, bruck_allgather},
    allgather_ring(Collective::allgather),
    allgather_leaders(Collective::allgather),
    allgather_lanes(Collective::allgather),
    shared<node::allgather>(Collective::allgather, Order::none),
};
constexpr std::array allgatherv{
    allgather_linear(Collective::allgatherv),
    Algorithm{Collective::allgatherv, "bruck", "short blocks: fewest steps",
              Order::none, always,
              [](S s, M m) { return doublings(s, m) + copy(m, s.bytes); },
              bruck_allgatherv},
    allgather_ring(Collective::allgatherv),
    allgather_leaders(Collective::allgatherv),
    allgather_lanes(Collective::allgatherv),
    shared<node::allgather>(Collective::allgatherv, Order::none),
};

constexpr std::array broadcast{
    Algorithm{Collective::broadcast, "linear", "few ranks: the root sends to all",
              Order::none, always,
              [](S s, M m) { return burst(s, m, s.bytes); },
              linear_broadcast},
    Algorithm{Collective::broadcast, "binomial", "short vectors: fewest steps",
              Order::none, always,
              [](S s, M m) { return tree(s, m, s.bytes); },
              binomial_broadcast},
    Algorithm{Collective::broadcast, "scatter_allgather", "long vectors, many ranks",
              Order::none, always,
              [](S s, M m) { return scatter_in_tree(s, m) + ring(m, others(s), block(s)); },
              scatter_allgather_broadcast},
    Algorithm{Collective::broadcast, "chain", "very long vectors: from rank to rank, in segments",
              Order::none, always,
              [](S s, M m) { return pipeline(m, others(s), s.bytes); },
              chain_broadcast},
    Algorithm{Collective::broadcast, "leaders", "several ranks a node, short vectors: a tree of nodes, then in memory",
              Order::none, if_by_node,
              [](S s, M m) { return in_memory(m, s.bytes, 1) +
                                    among_nodes(s, m, [](S n, M b) { return tree(n, b, n.bytes); }); },
              leaders_broadcast},
    Algorithm{Collective::broadcast, "leaders_chain", "the same, very long vectors: from node to node, in segments",
              Order::none, if_by_node,
              [](S s, M m) { return in_memory(m, s.bytes, 1) +
                                    among_nodes(s, m, [](S n, M b) { return pipeline(b, others(n), n.bytes); }); },
              leaders_chain_broadcast},
    shared<node::broadcast>(Collective::broadcast, Order::none),
};

/// Gather and scatter send the same messages in opposite directions.
using Run = void (*)(Channel&, Arguments const&);
constexpr Algorithm rooted_linear(Collective collective, Run run) {
    return {collective, "linear", "few ranks or long blocks: straight between the root and each",
            Order::none, always,
            [](S s, M m) { return burst(s, m, block(s)); }, run};
}
constexpr Algorithm rooted_binomial(Collective collective, Run run) {
    return {collective, "binomial", "short blocks: fewest steps",
            Order::none, always,
            [](S s, M m) { return doublings_in_tree(s, m) + copy(m, s.bytes / 2); }, run};
}
constexpr std::array gather{rooted_linear(Collective::gather, linear_gather),
                            rooted_binomial(Collective::gather, binomial_gather),
                            shared<node::gather>(Collective::gather, Order::none)};
constexpr std::array gatherv{rooted_linear(Collective::gatherv, linear_gather),
                             shared<node::gather>(Collective::gatherv, Order::none)};
constexpr std::array scatter{rooted_linear(Collective::scatter, linear_scatter),
                             rooted_binomial(Collective::scatter, binomial_scatter),
                             shared<node::scatter>(Collective::scatter, Order::none)};
constexpr std::array scatterv{rooted_linear(Collective::scatterv, linear_scatter),
                              shared<node::scatter>(Collective::scatterv, Order::none)};

constexpr Algorithm alltoall_linear(Collective collective) {
    return {collective, "linear", "several partners at once",
            Order::none, always,
            [](S s, M m) { return burst_of_all(s, m, block(s)); },
            linear_alltoall};
}
constexpr Algorithm alltoall_pairwise(Collective collective) {
    return {collective, "pairwise", "one partner at a time: networks that congest",
            Order::none, always,
            [](S s, M m) { return one_by_one(s, m, block(s)); },
            pairwise_alltoall};
}
constexpr std::array alltoall{
    alltoall_linear(Collective::alltoall),
    alltoall_pairwise(Collective::alltoall),
    Algorithm{Collective::alltoall, "bruck", "short blocks: fewest steps",
              Order::none, always,
              [](S s, M m) { return exchanges(m, rounds(s), s.bytes / 2, 2) + copy(m, 2 * s.bytes); },
              bruck_alltoall},
    shared<node::alltoall>(Collective::alltoall, Order::none),
};
constexpr std::array alltoallv{alltoall_linear(Collective::alltoallv), alltoall_pairwise(Collective::alltoallv),
                               shared<node::alltoall>(Collective::alltoallv, Order::none)};

constexpr auto scan_of(Collective collective, Run linear, Run recursive_doubling, Algorithm over_memory_of_node) {
    return std::array{
        Algorithm{collective, "linear", "long vectors: from rank to rank, in segments",
                  Order::linear, always,
                  [](S s, M m) { return reducing_pipeline(m, others(s), s.bytes); }, linear},
        Algorithm{collective, "recursive_doubling", "short vectors: fewest steps",
                  Order::tree, always,
                  [](S s, M m) { return exchanges(m, rounds(s), s.bytes, 2); },
                  recursive_doubling},
        over_memory_of_node,
    };
}
constexpr auto scan = scan_of(Collective::scan, linear_scan, recursive_doubling_scan,
                              shared<node::scan>(Collective::scan, Order::linear));
constexpr auto exscan = scan_of(Collective::exscan, linear_exscan, recursive_doubling_exscan,
                                shared<node::exscan>(Collective::exscan, Order::linear));

constexpr std::array barrier{
    Algorithm{Collective::barrier, "dissemination", "fewest steps",
              Order::none, always, [](S s, M m) { return exchanges(m, rounds(s), 1, 0); },
              dissemination_barrier},
    Algorithm{Collective::barrier, "tree", "fewest messages",
              Order::none, always, [](S s, M m) { return 2 * tree(s, m, 1); },
              tree_barrier},
    Algorithm{Collective::barrier, "leaders", "several ranks a node: in memory, then one rank of each node",
              Order::none, if_by_node,
              [](S s, M m) { return in_memory(m, 0, 2) +
                                    among_nodes(s, m, [](S n, M b) { return exchanges(b, rounds(n), 1, 0); }); },
              leaders_barrier},
    shared<node::barrier>(Collective::barrier, Order::none),
};
// clang-format on

}  // namespace

std::span<Algorithm const> algorithms(Collective collective) {
    switch (collective) {
        case Collective::allreduce:
            return allreduce;
        case Collective::reduce_scatter:
            return reduce_scatter;
        case Collective::reduce_scatter_block:
            return reduce_scatter_block;
        case Collective::allgather:
            return allgather;
        case Collective::allgatherv:
            return allgatherv;
        case Collective::broadcast:
            return broadcast;
        case Collective::reduce:
            return reduce;
        case Collective::gather:
            return gather;
        case Collective::gatherv:
            return gatherv;
        case Collective::scatter:
            return scatter;
        case Collective::scatterv:
            return scatterv;
        case Collective::alltoall:
            return alltoall;
        case Collective::alltoallv:
            return alltoallv;
        case Collective::scan:
            return scan;
        case Collective::exscan:
            return exscan;
        case Collective::barrier:
            return barrier;
    }
    return {};
}

Algorithm const& shared_algorithm(Collective collective) { return algorithms(collective).back(); }

Algorithm const& find_algorithm(Collective collective, std::string_view name) {
    for (Algorithm const& algorithm : algorithms(collective))
        if (algorithm.name == name) return algorithm;
    std::string names;
    for (std::string_view const known : algorithm_names(collective))
        names += text(names.empty() ? "" : ", ", known);
    throw UsageError(text("\"", name, "\" (is not an algorithm of ", sinew::name(collective),
                          "). Choose one of: ", names));
}

}  // namespace sinew::collectives

namespace sinew {

std::vector<std::string_view> algorithm_names(Collective collective) {
    std::vector<std::string_view> names;
    for (auto const& algorithm : collectives::algorithms(collective))
        names.push_back(algorithm.name);
    return names;
}

}  // namespace sinew
