// SPDX-License-Identifier: Apache-2.0
#include "src/wire/socket/sockets.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <sinew/error.hpp>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::wire {
namespace {

[[noreturn]] void throw_system(Address const& address, char const* what, int error) {
    throw SystemError(text(address.text(), ": cannot listen (", what, ": ", std::strerror(error),
                           "). Choose another address"),
                      error);
}

// Throws UsageError unless the folder belongs to this user and has no access for others, since
// anyone with access to it can connect.
void check_folder(Address const& address) {
    std::string const above = std::filesystem::path(address.host).parent_path();
    std::string const folder = above.empty() ? std::string(".") : above;
    struct stat about {};
    if (::stat(folder.c_str(), &about) != 0) throw_system(address, "its folder", errno);
    if (about.st_uid != ::geteuid())
        throw UsageError(text(address.text(), ": its folder belongs to user ", about.st_uid,
                              " (must be this one, ", ::geteuid(), "). Use a folder of your own"));
    if ((about.st_mode & 077) != 0)
        throw UsageError(text(address.text(), ": its folder has mode ", std::oct,
                              about.st_mode & 07777, " (must be 700). Run chmod 700 ", folder));
}

// Removes the file of a socket whose process has ended. Returns false if a process still listens.
bool remove_abandoned(SocketAddress const& where, std::string const& path) {
    struct stat about {};
    if (::lstat(path.c_str(), &about) != 0 || !S_ISSOCK(about.st_mode)) return false;
    UniqueFd const probe = new_socket(AF_UNIX);
    if (::connect(probe.get(), where.get(), where.length) == 0 || errno != ECONNREFUSED)
        return false;
    return ::unlink(path.c_str()) == 0;
}

UniqueFd listen_unix(Address const& address) {
    SocketAddress const where = unix_address(address.host);
    check_folder(address);
    UniqueFd fd = new_socket(AF_UNIX);
    if (::bind(fd.get(), where.get(), where.length) != 0) {
        int const error = errno;
        if (error != EADDRINUSE || !remove_abandoned(where, address.host) ||
            ::bind(fd.get(), where.get(), where.length) != 0)
            throw_system(address, "bind", error);
    }
    if (::chmod(address.host.c_str(), 0600) != 0 || ::listen(fd.get(), SOMAXCONN) != 0) {
        int const error = errno;
        ::unlink(address.host.c_str());
        throw_system(address, "listen", error);
    }
    return fd;
}

SocketAddress resolve_now(Address const& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* list = nullptr;
    int const error = ::getaddrinfo(address.host.c_str(), nullptr, &hints, &list);
    if (error != 0)
        throw SystemError(text(address.text(), ": unknown host (", ::gai_strerror(error),
                               "). Is the name right?"),
                          error == EAI_SYSTEM ? errno : EADDRNOTAVAIL);
    std::unique_ptr<addrinfo, void (*)(addrinfo*)> const owner(list, ::freeaddrinfo);
    auto found = numeric_address(Address::tcp(
        [&] {
            char host[NI_MAXHOST];
            ::getnameinfo(list->ai_addr, list->ai_addrlen, host, sizeof host, nullptr, 0,
                          NI_NUMERICHOST);
            return std::string(host);
        }(),
        address.port));
    if (!found) throw_system(address, "resolve", EADDRNOTAVAIL);
    return *found;
}

UniqueFd listen_tcp(Address const& address) {
    auto const numeric = numeric_address(address);
    SocketAddress const where = numeric ? *numeric : resolve_now(address);
    UniqueFd fd = new_socket(where.get()->sa_family);
    int const on = 1, off = 0;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (where.get()->sa_family == AF_INET6)
        ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (::bind(fd.get(), where.get(), where.length) != 0) throw_system(address, "bind", errno);
    if (::listen(fd.get(), SOMAXCONN) != 0) throw_system(address, "listen", errno);
    return fd;
}

using NameOf = int (*)(int, sockaddr*, socklen_t*);

std::string host_by(NameOf name_of, int fd) {
    SocketAddress address;
    address.length = sizeof address.storage;
    if (name_of(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) return {};
    if (address.storage.ss_family == AF_UNIX) return {};
    char host[NI_MAXHOST];
    if (::getnameinfo(address.get(), address.length, host, sizeof host, nullptr, 0,
                      NI_NUMERICHOST) != 0)
        return {};
    std::string const found = host;
    // An IPv4 address on a dual-stack socket is IPv4-mapped.
    return found.starts_with("::ffff:") && found.find('.') != found.npos ? found.substr(7) : found;
}

}  // namespace

SocketAddress unix_address(std::string const& path) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof name.sun_path)
        throw UsageError(text("unix:", path, ": a path of ", path.size(), " bytes (must be 1 to ",
                              sizeof name.sun_path - 1, "). Choose a shorter folder"));
    std::memcpy(name.sun_path, path.data(), path.size());
    SocketAddress address;
    std::memcpy(&address.storage, &name, sizeof name);
    address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
    return address;
}

std::optional<SocketAddress> numeric_address(Address const& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    addrinfo* list = nullptr;
    auto const port = std::to_string(address.port);
    char const* const host = address.host.empty() ? nullptr : address.host.c_str();
    if (::getaddrinfo(host, port.c_str(), &hints, &list) != 0) return std::nullopt;
    std::unique_ptr<addrinfo, void (*)(addrinfo*)> const owner(list, ::freeaddrinfo);
    SocketAddress found;
    std::memcpy(&found.storage, list->ai_addr, list->ai_addrlen);
    found.length = list->ai_addrlen;
    return found;
}

UniqueFd new_socket(int family) {
    UniqueFd fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (fd) return fd;
    throw_errno("a socket cannot be created", "Is the limit of open files (ulimit -n) reached?");
}

UniqueFd listening_socket(Address const& address) {
    return address.family == Address::Family::unix_socket ? listen_unix(address)
                                                          : listen_tcp(address);
}

std::uint16_t bound_port(int fd) {
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return 0;
    // sockaddr_in and sockaddr_in6 have the port at the same offset.
    sockaddr_in name;
    std::memcpy(&name, &storage, sizeof name);
    return ntohs(name.sin_port);
}

void set_tcp_options(int fd) {
    auto const set = [fd](int level, int option, int value) {
        ::setsockopt(fd, level, option, &value, sizeof value);  // optional: errors are ignored
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 2);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    // TCP_USER_TIMEOUT is not set: it also ends connections whose peer does not read for that time
    // although its kernel answers. See TcpAnswers.
}

std::string check_peer_user(int fd) {
    ucred peer{};
    socklen_t length = sizeof peer;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
        return text("its user is unknown (", std::strerror(errno), ")");
    if (peer.uid == ::geteuid()) return {};
    return text("it runs as user ", peer.uid, " (must be ", ::geteuid(), ")");
}

std::string local_host(int fd) {
    return host_by([](int s, sockaddr* a, socklen_t* l) { return ::getsockname(s, a, l); }, fd);
}

std::string peer_host(int fd) {
    return host_by([](int s, sockaddr* a, socklen_t* l) { return ::getpeername(s, a, l); }, fd);
}

}  // namespace sinew::wire
