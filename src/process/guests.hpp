// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "src/process/peers.hpp"

namespace sinew::process {

/// Accepts clients of other sessions that prove the key. Holds at most `memory` bytes for each of
/// them. Throws SystemError, UsageError.
std::unique_ptr<wire::Listener> listen_to_guests(wire::Loop& loop, wire::Address const& address,
                                                 wire::Credentials const& self, Peers& peers,
                                                 std::size_t memory);
/// The address under which clients find the listener: one of this host's addresses if it listens on
/// all.
std::string guest_address(wire::Address bound);

}  // namespace sinew::process
