// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/simulate/network.hpp"

#include <sinew/error.hpp>

#include "benchmarks/support/text.hpp"

namespace sinew::bench {

namespace {

// Of 1538 bytes on the wire (preamble, gap, headers, MTU 1500) TCP with timestamps carries 1448.
constexpr double tcp_share = 1448.0 / 1538;
// Of a packet with MTU 4096: local header 8, transport header 12, checksums 6 bytes.
constexpr double infiniband_share = 4096.0 / (4096 + 26);

// Latencies hardly depend on the rate, but on the path through the system.
constexpr double tcp_latency = 24.6e-6, infiniband_latency = 1.2e-6;
constexpr char const* tcp_source =
    "rate: IEEE 802.3 (25GBASE-R: by, 100: bj, 400: bs), less TCP/IP at MTU 1500; latency: "
    "osu_latency of MPICH over TCP, 24.6 us (gist.github.com/jfgrimm/"
    "3af692a5475bdd4ed836b5a18197a209)";
constexpr char const* infiniband_source =
    "rate: InfiniBand Architecture, NDR 4x (NVIDIA ConnectX-7: 400 Gb/s), less headers at MTU "
    "4096; "
    "latency: osu_latency of Open MPI over UCX on InfiniBand, 0.9 us (same gist), and 0.3 us for "
    "further switches";

Network ethernet(int gigabits) {
    return {text("ethernet-", gigabits), {tcp_latency, gigabits * 1e9 / 8 * tcp_share}, tcp_source};
}

}  // namespace

std::vector<Network> const& named_networks() {
    static std::vector<Network> const all{
        ethernet(25), ethernet(100), ethernet(400),
        Network{"infiniband-ndr",
                {infiniband_latency, 400e9 / 8 * infiniband_share},
                infiniband_source}};
    return all;
}

Network const& find_network(std::string const& name) {
    std::vector<std::string> names;
    for (Network const& network : named_networks()) {
        if (network.name == name) return network;
        names.push_back(network.name);
    }
    throw UsageError(text("--network ", name, " (did you mean ", nearest(name, names),
                          "?). There are ", join(names),
                          "; or give --rate and --latency of another"));
}

}  // namespace sinew::bench
