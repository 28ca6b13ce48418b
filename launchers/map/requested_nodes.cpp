// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include <sinew/error.hpp>

#include "launchers/command_line/options.hpp"
#include "launchers/map/mapping.hpp"
#include "launchers/map/node_names.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

std::string name_of(std::string const& host) {
    auto const at = host.rfind('@');
    return at == std::string::npos ? host : host.substr(at + 1);
}

/// Adds the slots of a host that is named again. An entry without a number counts as one slot, as
/// in the node files of batch systems, which name a host once for each slot.
void add_slots(Node& node, HostRequest const& again) {
    if (node.host != again.host)
        throw UsageError(text("hosts ", node.host, " and ", again.host, " have the same name (",
                              node.name, "), and each node needs its own. Keep one of them"));
    node.slots = std::max(node.slots, 1) + std::max(again.slots, 1);
    bool const limited = node.max_slots > 0 && again.max_slots > 0;
    node.max_slots = limited ? node.max_slots + again.max_slots : 0;
}

std::vector<Node> nodes_of_hosts(std::vector<HostRequest> const& hosts) {
    std::vector<Node> nodes;
    std::map<std::string, std::size_t> known;
    for (HostRequest const& request : hosts) {
        std::string const name = name_of(request.host);
        auto const [at, is_new] = known.emplace(name, nodes.size());
        if (is_new) nodes.push_back({name, request.host, request.slots, request.max_slots, 0, {}});
        else add_slots(nodes[at->second], request);
    }
    return nodes;
}

std::vector<Node> fake_nodes(RunOptions const& options, std::string const& host) {
    std::vector<Node> nodes;
    for (int i = 0; i < options.fake_nodes; ++i) {
        auto const index = static_cast<std::size_t>(i);
        int const slots = index < options.fake_slots.size() ? options.fake_slots[index] : 0;
        nodes.push_back({text(host, "-", i), host, slots, 0, 0, {}});
    }
    return nodes;
}

// Containers on this host; their names are their host names.
std::vector<Node> containers(int count) {
    std::vector<Node> nodes;
    for (int i = 0; i < std::max(count, 1); ++i) {
        auto const name = text("docker-", i);
        nodes.push_back({name, name, 0, 0, 0, {}});
    }
    return nodes;
}

void keep_first(std::vector<Node>& nodes, int wanted) {
    if (wanted == 0) return;
    if (nodes.size() < static_cast<std::size_t>(wanted))
        throw UsageError(text("--nnodes ", wanted, " (there ", nodes.size() == 1 ? "is" : "are",
                              " only ", nodes.size(), nodes.size() == 1 ? " host" : " hosts", ": ",
                              node_names(nodes),
                              "). Name more with -H or --hostfile, or lower --nnodes"));
    nodes.resize(static_cast<std::size_t>(wanted));
}

}  // namespace

std::vector<Node> requested_nodes(RunOptions const& options, std::string const& this_host) {
    if (options.fake_nodes > 0 && !options.hosts.empty())
        throw UsageError(text("--fake-nodes ", options.fake_nodes,
                              " together with hosts (fake nodes are all on this one). Keep one"));
    if (options.backend == "docker") return containers(options.nodes);
    std::vector<Node> nodes = options.fake_nodes > 0 ? fake_nodes(options, this_host)
                              : options.hosts.empty()
                                  ? std::vector<Node>{{this_host, this_host, 0, 0, 0, {}}}
                                  : nodes_of_hosts(options.hosts);
    keep_first(nodes, options.nodes);
    return nodes;
}

}  // namespace sinew::launch
