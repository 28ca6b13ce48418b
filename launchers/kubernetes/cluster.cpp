// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/cluster.hpp"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "k8s/api_error.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

using Json = nlohmann::json;

// A Secret holds 1 MiB.
constexpr std::size_t most_places = std::size_t{512} << 10;

// The labels of a level of the network, the most common first.
constexpr std::array regions{"topology.kubernetes.io/region"};
constexpr std::array zones{"topology.kubernetes.io/zone"};
constexpr std::array blocks{"topology.kubernetes.io/block", "cloud.google.com/gce-topology-block",
                            "cloud.provider.com/topology-block",
                            "topology.k8s.aws/network-node-layer-2"};
constexpr std::array racks{"topology.kubernetes.io/rack", "cloud.google.com/gce-topology-subblock",
                           "cloud.provider.com/topology-rack",
                           "topology.k8s.aws/network-node-layer-3"};

template <std::size_t N>
std::string label(Json const& labels, std::array<char const*, N> const& keys) {
    for (char const* key : keys)
        if (auto const at = labels.find(key); at != labels.end() && at->is_string()) return *at;
    return {};
}

bool serves(k8s::Client& client, k8s::Resource const& resource) {
    try {
        client.call(
            k8s::list(resource, {.ns = {}, .label_selector = "none=none", .field_selector = {}}));
        return true;
    } catch (k8s::ApiError const& error) {
        // A server that does not have the group may refuse before it says so.
        if (error.not_found() || error.forbidden()) return false;
        throw;
    }
}

}  // namespace

std::unique_ptr<k8s::Client> open_cluster(KubernetesOptions const& options,
                                          std::function<bool()> interrupted) {
    k8s::ClientOptions settings;
    settings.interrupted = std::move(interrupted);
    return std::make_unique<k8s::Client>(
        k8s::find_configuration(
            {.kubeconfig = options.kubeconfig, .context = options.context, .ns = options.ns}),
        settings);
}

std::string node_places(k8s::Client& client) {
    Json answer;
    try {
        answer = client.call(k8s::list(k8s::nodes));
    } catch (k8s::ApiError const& error) {
        if (error.forbidden()) return {};
        throw;
    }
    std::string lines;
    auto const items = answer.value("items", Json::array());
    for (auto const& node : items) {
        auto const meta = node.value("metadata", Json::object());
        auto const labels = meta.value("labels", Json::object());
        auto const region = label(labels, regions), zone = label(labels, zones),
                   block = label(labels, blocks), rack = label(labels, racks);
        if (region.empty() && zone.empty() && block.empty() && rack.empty()) continue;
        lines += text(meta.value("name", ""), " ", region, "/", zone, "/", block, "/", rack, "\n");
        if (lines.size() > most_places) return {};
    }
    return lines;
}

Gang available_gang(k8s::Client& client) {
    if (serves(client, k8s::volcano_pod_groups)) return Gang::volcano;
    if (serves(client, k8s::pod_groups)) return Gang::coscheduling;
    return Gang::none;
}

}  // namespace sinew::launch::kubernetes
