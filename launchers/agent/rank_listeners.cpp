// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/rank_listeners.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr int backlog = 1024;

// A socket address of any family.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;
    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

SocketAddress tcp_address(std::string const& host, std::uint16_t port) {
    SocketAddress address;
    auto* const four = reinterpret_cast<sockaddr_in*>(&address.storage);
    auto* const six = reinterpret_cast<sockaddr_in6*>(&address.storage);
    if (::inet_pton(AF_INET, host.c_str(), &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons(port);
        address.size = sizeof *four;
    } else if (::inet_pton(AF_INET6, host.c_str(), &six->sin6_addr) == 1) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(port);
        address.size = sizeof *six;
    }
    return address;
}

UniqueFd listen_on(SocketAddress address, std::string const& name) {
    UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd || ::bind(fd.get(), address.get(), address.size) != 0 ||
        ::listen(fd.get(), backlog) != 0)
        throw SystemError(
            text("cannot listen on ", name, " for a rank (", std::strerror(errno), ")"), errno);
    return fd;
}

std::uint16_t port_of(int fd) {
    SocketAddress bound;
    bound.size = sizeof bound.storage;
    if (::getsockname(fd, bound.get(), &bound.size) != 0) return 0;
    // The port has the same offset in both families.
    return ntohs(reinterpret_cast<sockaddr_in*>(&bound.storage)->sin_port);
}

}  // namespace

RankListeners bind_rank(std::string const& folder, int rank, std::string const& host) {
    RankListeners listeners;
    std::string const path = text(folder, "/rank-", rank, ".sock");
    SocketAddress address;
    auto* const local = reinterpret_cast<sockaddr_un*>(&address.storage);
    if (path.size() >= sizeof local->sun_path)
        throw UsageError(text(path, " is too long for a socket (", path.size(),
                              " characters, at most ", sizeof local->sun_path - 1,
                              "). Name a shorter folder by SINEW_TMPDIR"));
    local->sun_family = AF_UNIX;
    path.copy(local->sun_path, path.size());
    address.size = sizeof *local;
    ::unlink(path.c_str());  // a stale file would make bind fail
    listeners.local = listen_on(address, path);
    listeners.local_address = wire::Address::unix_socket(path);
    if (!host.empty()) {
        listeners.remote = listen_on(tcp_address(host, 0), host);
        listeners.remote_address = wire::Address::tcp(host, port_of(listeners.remote.get()));
    }
    return listeners;
}

int free_port() {
    try {
        return port_of(listen_on(tcp_address("0.0.0.0", 0), "0.0.0.0").get());
    } catch (SystemError const&) {
        return 0;
    }
}

}  // namespace sinew::launch
