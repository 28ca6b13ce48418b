// SPDX-License-Identifier: Apache-2.0
#include "src/wire/adopt.hpp"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/wire/link_handshake.hpp"

namespace sinew::wire {
namespace {

// Returns why a link over this descriptor would fail, or be unsafe without a secret; empty:
// neither.
std::string problem_of(int fd) {
    sockaddr_storage other{};
    socklen_t length = sizeof other;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&other), &length) != 0)
        return std::strerror(errno);
    if (other.ss_family != AF_UNIX)
        return "not a Unix socket: an unrelated process may be behind it";
    int type = 0;
    length = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0) return std::strerror(errno);
    return type == SOCK_STREAM ? "" : "not a stream";
}

void set_flags(int fd) {
    int const flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        throw SystemError(text("descriptor ", fd, ": fcntl: ", std::strerror(errno)), errno);
}

}  // namespace

std::unique_ptr<Link> adopt(Loop& loop, UniqueFd socket, Identity peer,
                            LinkOptions const& options) {
    auto const problem = problem_of(socket.get());
    if (!problem.empty())
        throw UsageError(text("descriptor ", socket.get(), " cannot become a link to ", peer.name,
                              " (", problem, "). Give one end of a socketpair"));
    set_flags(socket.get());
    auto channel =
        std::make_shared<Channel>(loop, make_socket_stream(std::move(socket)), options.max_frame);
    channel->pause();  // until the user has set its callbacks
    return make_link(loop, {std::move(channel), std::move(peer), options.max_frame}, options);
}

}  // namespace sinew::wire
