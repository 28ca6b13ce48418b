// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/simulate/options.hpp"

#include <charconv>
#include <cmath>
#include <sinew/error.hpp>

#include "benchmarks/support/flags.hpp"
#include "benchmarks/support/sizes.hpp"
#include "benchmarks/support/text.hpp"

namespace po = boost::program_options;

namespace sinew::bench {

namespace {

constexpr int most_ranks = 1 << 20;

Collective parse_operation(std::string const& word) {
    std::vector<std::string> names;
    for (Collective const collective : simulated) {
        if (name(collective) == word) return collective;
        names.emplace_back(name(collective));
    }
    throw UsageError(text("--op ", word, " (must be one of ", join(names), ')'));
}

void require_whole_nodes(SimulateOptions const& options) {
    for (int const ranks : options.ranks) {
        int const per_node = options.clusters.front().ranks_per_node;
        if (ranks > per_node && ranks % per_node != 0)
            throw UsageError(text("--ranks ", ranks, " (must be a multiple of --ranks-per-node ",
                                  per_node, ", or less)"));
    }
}

}  // namespace

double parse_latency(char const* flag, std::string const& word) {
    double number = 0;
    auto const* const end = word.data() + word.size();
    auto const [rest, error] = std::from_chars(word.data(), end, number);
    std::string_view const unit(rest, static_cast<std::size_t>(end - rest));
    double const scale = unit == "ns" ? 1e-9 : unit == "us" ? 1e-6 : unit == "ms" ? 1e-3 : 0;
    if (error != std::errc() || scale == 0 || !(number >= 0) || !std::isfinite(number))
        throw UsageError(text("--", flag, ' ', word, " (not a time such as 25us, 800ns or 1ms)"));
    return number * scale;
}

SimulateOptions parse_simulate_options(int argc, char** argv) {
    SimulateOptions options;
    std::string networks = "ethernet-25,ethernet-100,ethernet-400,infiniband-ndr",
                ranks = "8,64,512,4096,65536", sizes = "8,1K,64K,1M,16M,256M",
                operation = "allreduce", rate, latency, node_rate, node_latency;
    Cluster cluster;
    po::options_description flags;
    // clang-format off
    flags.add_options()
        ("op", po::value(&operation))
        ("network", po::value(&networks))
        ("rate", po::value(&rate))
        ("latency", po::value(&latency))
        ("node-rate", po::value(&node_rate))
        ("node-latency", po::value(&node_latency))
        ("ranks-per-node", po::value(&cluster.ranks_per_node))
        ("ranks", po::value(&ranks))
        ("sizes", po::value(&sizes))
        ("json", po::value(&options.json))
        ("plot", po::value(&options.plot))
        ("help,h", po::bool_switch(&options.help));
    // clang-format on
    auto const given = parse_flags(argc, argv, flags);
    require_within("ranks-per-node", cluster.ranks_per_node, 1, most_ranks);
    if (!node_rate.empty()) cluster.memory.rate = parse_rate(node_rate) / 8;
    if (!node_latency.empty()) cluster.memory.latency = parse_latency("node-latency", node_latency);
    if (rate.empty() != latency.empty())
        throw UsageError("--rate and --latency belong together: they describe one network");
    if (!rate.empty() && given.count("network") > 0)
        throw UsageError("--network with --rate and --latency (one of them describes the network)");
    if (!rate.empty()) {
        cluster.network = {text(rate, ' ', latency),
                           {parse_latency("latency", latency), parse_rate(rate) / 8},
                           "--rate and --latency"};
        options.clusters.push_back(cluster);
    } else {
        for (std::string const& word : split(networks, ',')) {
            cluster.network = find_network(word);
            options.clusters.push_back(cluster);
        }
    }
    options.collective = parse_operation(operation);
    options.ranks = parse_counts("ranks", ranks, most_ranks);
    options.sizes = parse_sizes(sizes);
    require_whole_nodes(options);
    return options;
}

std::string simulate_help() {
    return
        R"(simulate [flags]: what the cost model expects of a collective on clusters that are not here.

  --op NAME             allreduce, reduce_scatter or allgather                       (allreduce)
  --network NAME,...    ethernet-25, ethernet-100, ethernet-400, infiniband-ndr      (all four)
  --rate RATE --latency TIME
                        another network: 200mbit, 10gbit; 25us, 800ns
  --ranks-per-node N    ranks of a node, which share its link                        (8)
  --node-rate RATE --node-latency TIME
                        between two ranks of a node                                  (64gbit, 500ns)
  --ranks LIST          in total                                    (8,64,512,4096,65536)
  --sizes LIST          bytes in all, or 8-64M                     (8,1K,64K,1M,16M,256M)
  --json FILE           the times as JSON
  --plot FILE.svg       time over size for the most ranks, a panel for each network

flat ring: one ring of all ranks in node order. flat tree: recursive doubling (allgather: Bruck's algorithm,
reduce_scatter: recursive halving) of all ranks. leaders: reduce or gather within nodes, the same or
Rabenseifner's algorithm of one rank per node, broadcast or scatter within nodes. lanes: reduce-scatter
and allgather within nodes and a ring for each local rank between them, in the best number of chunks, of
which one is in memory while another is on the network. Times are in us and those
of the model by which sinew chooses algorithms: latency + bytes / rate for a message, the link of a node
shared by all of its ranks that send. Congestion inside the network and the number of messages that a
network card can send per second are not in it.
)";
}

}  // namespace sinew::bench
