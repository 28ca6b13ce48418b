// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/socket/address.hpp"

namespace sinew::wire {

/// An address as the kernel takes it.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    sockaddr const* get() const { return reinterpret_cast<sockaddr const*>(&storage); }
};

/// Throws UsageError for a path that is too long.
SocketAddress unix_address(std::string const& path);
/// Without asking a name server; nothing when the host is a name.
std::optional<SocketAddress> numeric_address(Address const& address);

/// Non-blocking, closed on exec. Throws SystemError.
UniqueFd new_socket(int family);
/// Bound and listening; a dead process's Unix socket is replaced. Throws SystemError, UsageError.
UniqueFd listening_socket(Address const& address);
/// The port that the kernel chose.
std::uint16_t bound_port(int fd);
/// Small messages at once, and hosts that are gone noticed within 11 s while nothing is under way;
/// while something is, TcpAnswers tells. Nothing for Unix sockets.
void set_tcp_options(int fd);

/// Empty when this user's process is at the other end of this Unix socket, else what is wrong.
std::string check_peer_user(int fd);
/// "10.0.0.3", or empty for Unix sockets.
std::string local_host(int fd);
std::string peer_host(int fd);

}  // namespace sinew::wire
