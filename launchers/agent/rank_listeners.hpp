// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/socket/address.hpp"

namespace sinew::launch {

/// The listening sockets of one rank, bound before it starts: all addresses are then known at the
/// start, and no rank has to wait for another.
struct RankListeners {
    UniqueFd local, remote;  ///< Unix socket; TCP if there are other nodes
    wire::Address local_address;
    std::optional<wire::Address> remote_address;
};

/// Binds the sockets of `rank`. `host` is this node's address for other nodes; empty: there are
/// none. Throws SystemError, or UsageError if the Unix socket's path would be too long.
RankListeners bind_rank(std::string const& folder, int rank, std::string const& host);

/// A TCP port that is free at present, for a service that a rank starts itself (MASTER_PORT); 0 if
/// there is none.
int free_port();

}  // namespace sinew::launch
