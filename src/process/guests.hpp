// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "src/process/peers.hpp"

namespace sinew::process {

/// Lets those in who prove the key, as guests, for each of whom `memory` bytes are held. Throws SystemError, UsageError.
std::unique_ptr<wire::Listener> listen_to_guests(wire::Loop& loop, wire::Address const& address,
                                                 wire::Credentials const& self, Peers& peers,
                                                 std::size_t memory);
/// Under which they find it: one of this host's addresses where it listens on all.
std::string guest_address(wire::Address bound);

}  // namespace sinew::process
