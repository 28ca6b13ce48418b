// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/communicator.hpp>
#include <string>

#include "src/base/unique_fd.hpp"
#include "src/ring/protocol.hpp"
#include "src/ring/reserved_port.hpp"

namespace sinew::ring {

/// What a member has bound before it knows the others.
struct Seat {
    /// Listens at this path. Throws SystemError, UsageError.
    explicit Seat(std::string const& path);
    Joined joined() const;
    UniqueFd listener;
    ReservedPort port;
};

/// The communicator of all members. Collective; throws PeerLost when one of them dies meanwhile.
Communicator meet(Table const& table, int rank, UniqueFd listener);

}  // namespace sinew::ring
