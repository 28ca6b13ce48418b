// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include <sinew/comm/transport.hpp>

#include "src/comm/communicator_state.hpp"
#include "src/world/node_identity.hpp"

namespace sinew::detail {

/// Makes the first communicator over a transport: the ranks tell each other which node they are on,
/// which processors they may use and their settings (rank 0's hold for all), then fetch the machine's
/// model from the cache or measure it. Collective; a few ms.
std::shared_ptr<CommunicatorState> join(std::unique_ptr<Transport> transport,
                                        std::shared_ptr<Engine> engine, NodeIdentity const& node,
                                        CommonSettings settings);

}  // namespace sinew::detail
