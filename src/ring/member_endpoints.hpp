// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/communicator.hpp>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "src/ring/protocol.hpp"
#include "src/ring/reserved_port.hpp"

namespace sinew::ring {

/// The sockets that a member binds before it knows the others.
struct MemberEndpoints {
    /// Listens on the order's addresses. Throws SystemError, UsageError.
    explicit MemberEndpoints(MemberOrder const& order);
    Joined joined() const { return joined_; }
    std::vector<UniqueFd> listeners;
    ReservedPort port;

private:
    Joined joined_;
};

/// Makes the communicator of all members. Collective. Throws PeerLost if one of them dies
/// meanwhile.
Communicator meet(Table const& table, int rank, std::vector<UniqueFd> listeners);

}  // namespace sinew::ring
