// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <sinew/ring_member.hpp>
#include <string>
#include <vector>

#include "src/ring/member_endpoints.hpp"
#include "src/ring/protocol.hpp"
#include "src/ring/reserved_port.hpp"

namespace sinew::ring {

/// The implementation of RingMember.
struct MemberState {
    /// Connects to the other members. Collective.
    MemberState(MemberOrder order, Table table, MemberEndpoints endpoints,
                std::function<void(std::uint64_t, State const&)> commit);

    int const rank, epoch;
    std::string const name;
    std::vector<RingNode> const members;
    ReservedPort port;
    Communicator communicator;
    std::uint64_t commits;  ///< that count
    std::optional<State> committed;
    /// Returns when the commit of this number counts.
    std::function<void(std::uint64_t, State const&)> commit;
};

/// Checks that this program has the functions to call.
bool is_known(Work const& work);
/// Calls init, then the target. Throws what they throw.
void perform(Work const& work, RingMember& member);

}  // namespace sinew::ring
