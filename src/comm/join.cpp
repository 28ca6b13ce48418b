// SPDX-License-Identifier: Apache-2.0
#include "src/comm/join.hpp"

#include <sched.h>

#include <algorithm>
#include <cctype>

#include "collectives/calibrate.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"
#include "src/comm/model_cache.hpp"
#include "src/comm/node_layout.hpp"
#include "src/comm/waiting.hpp"

namespace sinew::detail {

namespace {

using collectives::Channel;
using collectives::Model;

template <class Plain>
void share(Channel& channel, std::vector<Plain>& by_rank) {
    collectives::Scratch scratch;
    collectives::Arguments gather;
    gather.out = reinterpret_cast<std::byte*>(by_rank.data());
    gather.count = 1;
    gather.element = sizeof(Plain);
    gather.blocks = collectives::Blocks::equal(1, sizeof(Plain));
    gather.scratch = &scratch;
    collectives::find_algorithm(Collective::allgather, "bruck").run(channel, gather);
}

/// By node, whether it has more ranks than cpus that any of them may use: each may be bound to its own.
std::vector<char> crowded_nodes(Channel& channel, NodeLayout const& nodes) {
    auto const size = static_cast<std::size_t>(channel.size());
    std::vector<cpu_set_t> allowed(size);
    auto& own = allowed[static_cast<std::size_t>(channel.rank())];
    CPU_ZERO(&own);
    ::sched_getaffinity(0, sizeof(own), &own);  // fails beyond 1024 cpus: then nobody is crowded
    share(channel, allowed);
    std::vector<char> crowded;
    for (int node = 0; node < nodes.nodes(); ++node) {
        cpu_set_t together;
        CPU_ZERO(&together);
        int ranks = 0;
        for (std::size_t r = 0; r < size; ++r) {
            if (nodes.node_of[r] != node) continue;
            CPU_OR(&together, &together, &allowed[r]);
            ++ranks;
        }
        crowded.push_back(CPU_COUNT(&together) > 0 && ranks > CPU_COUNT(&together) ? 1 : 0);
    }
    return crowded;
}

/// Names the conditions that a model was fitted under.
std::string model_key(NodeLayout const& nodes, Transport const& transport, bool oversubscribed) {
    std::string host = nodes.hosts.front();
    std::replace_if(
        host.begin(), host.end(),
        [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '.'; },
        '_');
    return text("2-", host, '-', transport.name(), '-', SINEW_MPI_VENDOR, '-', transport.size(),
                "ranks-", nodes.nodes(), "nodes", oversubscribed ? "-oversubscribed" : "");
}

Model find_model(Channel& channel, NodeLayout const& nodes, Transport const& transport,
                 bool oversubscribed) {
    if (!env_flag("SINEW_CALIBRATE", true)) return {};
    std::string const key = model_key(nodes, transport, oversubscribed);
    // Rank 0's cache decides for all: the ranks must choose alike.
    struct Found {
        bool known = false;
        Model model;
    } found;
    if (channel.rank() == 0)
        if (auto const cached = load_model(key)) found = {true, *cached};
    auto const bytes = std::as_writable_bytes(std::span(&found, 1));
    if (channel.rank() != 0) channel.receive(0, bytes);
    else
        for (int r = 1; r < channel.size(); ++r) channel.send(r, bytes);
    if (found.known) return found.model;
    Model const model = collectives::calibrate(
        channel, {.across_nodes = nodes.nodes() > 1, .crowded = oversubscribed});
    if (channel.rank() == 0) save_model(key, model);
    return model;
}

}  // namespace

std::shared_ptr<CommunicatorState> join(std::unique_ptr<Transport> transport,
                                        std::shared_ptr<Engine> engine, NodeIdentity const& node,
                                        CommonSettings settings) {
    auto const size = static_cast<std::size_t>(transport->size());
    int const self = transport->rank();
    std::vector<NodeIdentity> identities(size, NodeIdentity::named("?", "a host not known yet"));
    identities[static_cast<std::size_t>(self)] = node;
    NodeLayout nodes = make_node_layout(identities, self);
    Model model;
    if (size > 1) {
        NodeLayout const unknown = nodes;
        Watch watch(*transport, unknown, watch_tag);
        Waiting waiting(watch, *engine, nullptr, settings.timeout, {.spins = 100, .yields = 4000},
                        true, [] { return std::string("joining the world"); });
        Channel channel(*transport, waiting, collective_tag);
        watch.enter(Collective::allgather);
        share(channel, identities);
        nodes = make_node_layout(identities, self);
        // Every rank of every node must name the same model.
        std::vector<char> const crowded = crowded_nodes(channel, nodes);
        settings.oversubscribed = crowded[static_cast<std::size_t>(nodes.node)] != 0;
        bool const any = std::any_of(crowded.begin(), crowded.end(), [](char c) { return c != 0; });
        if (transport->name() != "threads") model = find_model(channel, nodes, *transport, any);
    }
    return std::make_shared<CommunicatorState>(std::move(transport), std::move(nodes),
                                               std::move(engine), model, settings);
}

}  // namespace sinew::detail
