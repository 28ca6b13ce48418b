// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/link.hpp"

namespace sinew::wire {

/// Makes a link of one end of a socketpair(2) that parent and child (or two children) of one
/// process tree share. Whoever holds the other end inherited it from a common ancestor, so there is
/// no handshake and no secret, and the caller says who `peer` is. Both ends must adopt theirs with
/// the same `max_frame`, and close their copies of the other end: the end of a link is seen only
/// when all copies are closed.
///
/// The descriptor becomes non-blocking and closed on exec. Throws UsageError if it is not a
/// connected Unix stream socket.
std::unique_ptr<Link> adopt(Loop& loop, UniqueFd socket, Identity peer, LinkOptions const& options);

}  // namespace sinew::wire
