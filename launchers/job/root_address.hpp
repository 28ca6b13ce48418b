// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "src/wire/socket/address.hpp"

namespace sinew::launch {

/// Where the root of a job listens for its agents.
struct RootPlace {
    std::string folder;      ///< of its Unix socket, where all agents are on this host; else empty
    std::uint16_t port = 0;  ///< that the agents know already; 0: any
    std::string address;     ///< --root-address; empty: that of each interface
};

wire::Address listen_address(RootPlace const& place);
/// What agents that the root starts are told to dial, when it listens at `bound`.
std::vector<std::string> root_addresses(RootPlace const& place, wire::Address const& bound);

}  // namespace sinew::launch
