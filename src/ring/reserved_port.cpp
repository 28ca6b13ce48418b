// SPDX-License-Identifier: Apache-2.0
#include "src/ring/reserved_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include "src/base/system/io.hpp"
#include "src/wire/socket/sockets.hpp"

namespace sinew::ring {

ReservedPort::ReservedPort() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_addr.s_addr = htonl(INADDR_ANY);
    int const yes = 1;
    // SO_REUSEADDR is set after bind: otherwise the kernel might choose a shared port.
    if (!fd_ || ::bind(fd_.get(), reinterpret_cast<sockaddr const*>(&any), sizeof any) != 0 ||
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0)
        throw_errno("no TCP port can be reserved",
                    "See sysctl net.ipv4.ip_local_port_range and ulimit -n");
    number_ = wire::bound_port(fd_.get());
}

}  // namespace sinew::ring
