// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/wire/loop/loop.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::wire {

/// The addresses of a host in the order in which to try them; or why there are none.
struct Resolved {
    std::vector<SocketAddress> addresses;
    std::string problem;
};

/// Resolves a host for TCP on a thread of its own, as getaddrinfo may block for seconds. Calls
/// `done` on the loop, unless the handle is destroyed before.
Loop::Handle resolve(Loop& loop, std::string host, std::uint16_t port,
                     std::function<void(Resolved)> done);

}  // namespace sinew::wire
