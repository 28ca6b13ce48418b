// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include <sinew/comm/transport.hpp>

#include "collectives/channel.hpp"
#include "collectives/tuning/calibrate.hpp"
#include "src/comm/model/model_cache.hpp"
#include "src/comm/processors.hpp"

namespace sinew::detail {

/// Collective measurements, of which all ranks get the same result.
struct ModelMeasurements {
    std::function<collectives::Vital()> vital;
    std::function<collectives::Model()> calibrate;
};

/// Returns the model of these ranks, the same on all. Rank 0 looks for models that were fitted on
/// this topology. A short measurement tells which of them still holds; if none does, the model is
/// fitted again and saved. Collective.
collectives::Model find_model(collectives::Channel& channel, ModelCache const& cache,
                              std::uint64_t topology, bool across_nodes,
                              ModelMeasurements const& measure);

/// Hashes what a model depends on: who is on which node, on which processors, and the settings of
/// this process that choose the network.
std::uint64_t topology_of(NodeLayout const& nodes, std::span<Processors const> by_rank);

/// Returns the key under which models of such a job are cached.
std::string model_key(NodeLayout const& nodes, Transport const& transport, bool oversubscribed);

}  // namespace sinew::detail
