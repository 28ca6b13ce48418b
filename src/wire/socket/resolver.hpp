// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/wire/loop/loop.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::wire {

/// The addresses of a host, in the order in which they are to be tried; or why there are none.
struct Resolved {
    std::vector<SocketAddress> addresses;
    std::string problem;
};

/// Asks for the TCP addresses of a host, on a thread of its own, as getaddrinfo may wait for seconds.
/// `done` is called by the loop; never if the handle is destroyed before.
Loop::Handle resolve(Loop& loop, std::string host, std::uint16_t port,
                     std::function<void(Resolved)> done);

}  // namespace sinew::wire
