// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/link.hpp"

namespace sinew::wire {

/// A link over one end of a socketpair(2) that parent and child (or two children) of one process
/// tree share: whoever holds the other end got it from a common ancestor, so there is no handshake
/// and no secret, and `peer` is what the caller knows. Both ends adopt theirs, with the same
/// `max_frame`, and close their copies of the other's: as long as one is open, nobody sees an end.
///
/// The descriptor becomes non-blocking and closed on exec. Throws UsageError for what is no
/// connected Unix stream socket.
std::unique_ptr<Link> adopt(Loop& loop, UniqueFd socket, Identity peer, LinkOptions const& options);

}  // namespace sinew::wire
