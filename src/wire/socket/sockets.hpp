// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

#include "src/base/system/unique_fd.hpp"
#include "src/wire/socket/address.hpp"

namespace sinew::wire {

/// An address in the kernel's form.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;
    sockaddr const* get() const { return reinterpret_cast<sockaddr const*>(&storage); }
};

/// Throws UsageError for a path that is too long.
SocketAddress unix_address(std::string const& path);
/// Does not ask a name server; nothing if the host is a name.
std::optional<SocketAddress> numeric_address(Address const& address);

/// Non-blocking, closed on exec. Throws SystemError.
UniqueFd new_socket(int family);
/// Binds and listens; replaces a dead process's Unix socket. Throws SystemError, UsageError.
UniqueFd listening_socket(Address const& address);
/// The port that the kernel has chosen.
std::uint16_t bound_port(int fd);
/// Sends small messages at once, and notices a host that is gone within 11 s while nothing is in
/// flight; otherwise TcpAnswers does. No effect on Unix sockets.
void set_tcp_options(int fd);

/// Empty if a process of this user is at the other end of this Unix socket; else what is wrong.
std::string check_peer_user(int fd);
/// "10.0.0.3"; empty for Unix sockets.
std::string local_host(int fd);
std::string peer_host(int fd);

}  // namespace sinew::wire
