// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include <sinew/comm/transport.hpp>

#include "src/comm/communicator_state.hpp"
#include "src/world/node_identity.hpp"

namespace sinew::detail {

/// Makes the first communicator over a transport. The ranks exchange their node, the processors
/// that they may use and their settings (those of rank 0 are used), then load the machine's model
/// from the cache or measure it. `name` is what black boxes call it. Collective; takes a few ms.
std::shared_ptr<CommunicatorState> join(std::unique_ptr<Transport> transport,
                                        std::shared_ptr<Engine> engine, NodeIdentity const& node,
                                        CommonSettings settings, std::string name = "world");

}  // namespace sinew::detail
