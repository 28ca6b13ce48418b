// SPDX-License-Identifier: Apache-2.0
#include "src/base/system/io.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew {

void throw_errno(std::string const& what, std::string_view remedy, int error) {
    throw SystemError(
        text(what, " (", std::strerror(error), ")", remedy.empty() ? "" : ". ", remedy), error);
}

bool write_all(int fd, std::span<std::byte const> bytes) {
    while (!bytes.empty()) {
        ssize_t const count = ::write(fd, bytes.data(), bytes.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return false;
        bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return true;
}

ssize_t read_all(int fd, std::span<std::byte> into) {
    auto left = into;
    while (!left.empty()) {
        ssize_t const count = ::read(fd, left.data(), left.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return -1;
        if (count == 0) break;
        left = left.subspan(static_cast<std::size_t>(count));
    }
    return static_cast<ssize_t>(into.size() - left.size());
}

std::pair<UniqueFd, UniqueFd> socket_pair() {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return {};
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

}  // namespace sinew
