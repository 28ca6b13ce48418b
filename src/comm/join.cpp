// SPDX-License-Identifier: Apache-2.0
#include "src/comm/join.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "collectives/tuning/probe.hpp"
#include "src/base/system/allowed_cpus.hpp"
#include "src/base/text.hpp"
#include "src/comm/agreed_settings.hpp"
#include "src/comm/black_box/black_box.hpp"
#include "src/comm/memory/node_arena.hpp"
#include "src/comm/model/find_model.hpp"
#include "src/comm/model/tuned_cache.hpp"
#include "src/comm/node_layout.hpp"
#include "src/comm/processors.hpp"
#include "src/comm/progress/progress_policy.hpp"
#include "src/comm/share.hpp"
#include "src/world/processor_groups.hpp"

namespace sinew::detail {

namespace {

using collectives::Channel;
using collectives::Model;

/// The first message that each rank sends to the others.
struct Introduction {
    NodeIdentity node;
    Processors processors;
    Locality locality;
    SettingsDigest settings;
};

/// Returns one member of each introduction, by rank.
template <class Member>
std::vector<Member> each_ones(std::vector<Introduction> const& by_rank,
                              Member Introduction::*member) {
    std::vector<Member> all;
    for (Introduction const& one : by_rank) all.push_back(one.*member);
    return all;
}

/// Where this rank runs. Threads of one process may have different processors.
Locality my_locality() {
    auto const processors = allowed_cpus();
    return Locality::of(processor_groups(processors), processors);
}

/// Returns what rank 0 knows of calls that earlier jobs have measured, on every rank. Collective.
collectives::TunedTable known_of_rank_0(Channel& channel, TunedCache const& cache,
                                        std::uint64_t topology) {
    std::string text;
    if (channel.rank() == 0)
        text = cache.load(topology, std::chrono::system_clock::now()).to_text();
    auto const bytes =
        static_cast<std::size_t>(collectives::agreed(channel, static_cast<double>(text.size()), 0));
    return collectives::TunedTable::from_text(text_of_rank_0(channel, text, bytes));
}

/// Saves what the communicator's calls measure.
void keep_measured(collectives::Refinement& refinement, TunedCache const& cache,
                   std::uint64_t topology, collectives::TunedTable known) {
    refinement.keep = [cache, topology, known = std::move(known)](auto const& kind,
                                                                  auto const& algorithm) mutable {
        known.set(kind, algorithm);
        cache.save(known, topology, std::chrono::system_clock::now());
    };
}

}  // namespace

std::shared_ptr<CommunicatorState> join(std::unique_ptr<Transport> transport,
                                        std::shared_ptr<Engine> engine, NodeIdentity const& node,
                                        CommonSettings settings, std::string name) {
    auto const size = static_cast<std::size_t>(transport->size());
    int const self = transport->rank();
    bool const threads = transport->name() == "threads";  // they share what is the process's
    if (!threads)
        BlackBox::instance().open_folder(self, transport->size(), std::string(node.host_text()));
    Introduction const unknown{NodeIdentity::named("?", "a host not known yet"), {}, {}, {}};
    std::vector<Introduction> ranks(size, unknown);
    ranks[static_cast<std::size_t>(self)] = {
        node, Processors::mine(), {}, SettingsDigest::of(settings)};
    if (size > 1) ranks[static_cast<std::size_t>(self)].locality = my_locality();
    auto const layout = [&] {
        return make_node_layout(each_ones(ranks, &Introduction::node), self);
    };
    NodeLayout nodes = layout();
    Model model;
    std::shared_ptr<node_memory::Arena> arena;
    std::optional<TunedCache> cache;
    std::uint64_t topology = 0;
    collectives::TunedTable known;
    if (size > 1) {
        NodeLayout const early = nodes;
        OperationLog log("joining", self, std::vector<std::string>(size, early.host_of(self)));
        FailureDetector detector(*transport, early, detector_tag, log);
        ProgressPolicy policy(*transport, detector, *engine, nullptr, settings.deadlines,
                              {.spins = 100, .yields = 4000}, true,
                              [] { return std::string("joining the world"); });
        Channel channel(*transport, policy, collective_tag);
        log.enter({.collective = Collective::allgather});
        share(channel, ranks);
        nodes = layout();
        adopt_settings(channel, each_ones(ranks, &Introduction::settings), settings,
                       text("rank ", self, " of ", size, " on ", nodes.host_of(self)));
        if (settings.node_memory) arena = share_memory(channel, nodes);
        // The ranks of all nodes must use the same model.
        auto const crowded = crowded_nodes(each_ones(ranks, &Introduction::processors), nodes);
        settings.oversubscribed = crowded[static_cast<std::size_t>(nodes.node)] != 0;
        bool const any = std::any_of(crowded.begin(), crowded.end(), [](char c) { return c != 0; });
        topology = topology_of(nodes, each_ones(ranks, &Introduction::processors));
        if (settings.tune != TuneMode::off && !threads) {
            cache.emplace(model_key(nodes, *transport, any));
            known = known_of_rank_0(channel, *cache, topology);
        }
        if (settings.calibrate && !threads) {
            collectives::Setting const setting{.node_of = nodes.node_of, .crowded = any};
            model = find_model(channel, ModelCache(model_key(nodes, *transport, any)), topology,
                               nodes.nodes() > 1,
                               {.vital = [&] { return measure_vital(channel, setting); },
                                .calibrate = [&] { return calibrate(channel, setting); }});
        }
    }
    auto tuners = std::make_shared<collectives::Tuners>(
        model, settings.forced_algorithms,
        collectives::Tuners::Tuning{settings.tune, known,
                                    collectives::Placement::of(nodes.node_of)});
    auto state = std::make_shared<CommunicatorState>(
        std::move(transport), std::move(nodes), std::move(engine), std::move(tuners), settings,
        each_ones(ranks, &Introduction::locality), std::move(arena), std::move(name));
    if (cache && self == 0 && settings.tune == TuneMode::online)
        keep_measured(*state->refinement(), *cache, topology, std::move(known));
    return state;
}

}  // namespace sinew::detail
