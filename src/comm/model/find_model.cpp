// SPDX-License-Identifier: Apache-2.0
#include "src/comm/model/find_model.hpp"

#include <unistd.h>
#include <algorithm>

#include "collectives/algorithms.hpp"
#include "collectives/schedule/lent_buffer.hpp"
#include "collectives/tuning/probe.hpp"
#include "src/base/cache_file.hpp"
#include "src/base/text.hpp"

namespace sinew::detail {

namespace {

using collectives::Channel;
using collectives::Model;

/// Returns rank 0's model on every rank.
Model model_of_rank_0(Channel& channel, Model const& own) {
    static_assert(std::is_trivially_copyable_v<Model>);
    collectives::LentBuffer<Model> lent(channel, 1, own);
    collectives::Scratch scratch;
    collectives::Arguments call;
    call.out = reinterpret_cast<std::byte*>(lent->data());
    call.count = sizeof(Model);
    call.scratch = &scratch;
    collectives::binomial_broadcast(channel, call);
    return lent->front();
}

std::chrono::sys_seconds now() {
    return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// FNV-1a.
class Hash {
public:
    void add(void const* data, std::size_t bytes) {
        auto const* const p = static_cast<unsigned char const*>(data);
        for (std::size_t i = 0; i < bytes; ++i) value_ = (value_ ^ p[i]) * 0x100000001b3u;
    }
    void add(std::string_view words) {
        add(words.data(), words.size());
        add("", 1);
    }
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325u;
};

/// Adds the variables by which users choose networks and protocols, in a fixed order.
void add_network_settings(Hash& hash) {
    constexpr std::string_view prefixes[] = {"OMPI_MCA_btl", "OMPI_MCA_pml", "OMPI_MCA_mtl",
                                             "UCX_",         "FI_",          "MPIR_CVAR_CH4_"};
    std::vector<std::string_view> settings;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable)
        for (std::string_view const prefix : prefixes)
            if (std::string_view(*variable).starts_with(prefix)) settings.push_back(*variable);
    std::sort(settings.begin(), settings.end());
    for (std::string_view const setting : settings) hash.add(setting);
}

}  // namespace

Model find_model(Channel& channel, ModelCache const& cache, std::uint64_t topology,
                 bool across_nodes, ModelMeasurements const& measure) {
    // All ranks use rank 0's cache and its decision, because they must make the same choices.
    bool const decides = channel.rank() == 0;
    std::vector<CachedModel> known;
    if (decides) known = cache.load(topology, now());
    bool const any = collectives::agreed(channel, decides && !known.empty() ? 1 : 0, 0) > 0;
    if (any) {
        collectives::Vital const vital = measure.vital();
        auto const found = std::find_if(known.begin(), known.end(), [&](CachedModel const& one) {
            return collectives::holds(one.model, vital, across_nodes);
        });
        bool const fits = found != known.end();
        if (collectives::agreed(channel, fits ? 1 : 0, 0) > 0)
            return model_of_rank_0(channel, fits ? found->model : Model());
    }
    Model const model = measure.calibrate();
    if (decides) cache.save({.model = model, .topology = topology, .fitted = now()});
    return model;
}

std::uint64_t topology_of(NodeLayout const& nodes, std::span<Processors const> by_rank) {
    Hash hash;
    for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
        hash.add(nodes.host_of(static_cast<int>(rank)));
        hash.add(&nodes.node_of[rank], sizeof(int));
        hash.add(&by_rank[rank].allowed, sizeof by_rank[rank].allowed);
        hash.add(&by_rank[rank].quota, sizeof by_rank[rank].quota);
    }
    add_network_settings(hash);
    return hash.value();
}

std::string model_key(NodeLayout const& nodes, Transport const& transport, bool oversubscribed) {
    return text("3-", cache_word(nodes.hosts.front()), '-', transport.name(), '-', SINEW_MPI_VENDOR,
                '-', transport.size(), "ranks-", nodes.nodes(), "nodes",
                oversubscribed ? "-oversubscribed" : "");
}

}  // namespace sinew::detail
