// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/socket/address.hpp"

namespace sinew::launch {

/// Where one rank will be reached by the others, bound and listening before it starts: so the
/// addresses come with its start, and nobody has to wait for anybody.
struct RankListeners {
    UniqueFd local, remote;  ///< Unix socket; TCP if there are other nodes
    wire::Address local_address;
    std::optional<wire::Address> remote_address;
};

/// `host`: this node's address for other nodes; empty: there are none. Throws SystemError.
RankListeners bind_rank(std::string const& folder, int rank, std::string const& host);

/// A TCP port that is free just now, for a service that a rank starts itself (MASTER_PORT); 0 if
/// there is none.
int free_port();

}  // namespace sinew::launch
