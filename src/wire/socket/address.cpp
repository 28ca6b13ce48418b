// SPDX-License-Identifier: Apache-2.0
#include "src/wire/socket/address.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <sinew/error.hpp>
#include <tuple>
#include <utility>

#include "src/base/system/io.hpp"
#include "src/base/text.hpp"

namespace sinew::wire {
namespace {

[[noreturn]] void throw_unreadable(std::string_view written, std::string_view why) {
    throw UsageError(text("address '", written, "' cannot be used (", why,
                          "). Write unix:/folder/name, tcp:10.0.0.3:4711 or tcp:[fd00::3]:4711"));
}

std::uint16_t parse_port(std::string_view written, std::string_view digits) {
    std::uint16_t port = 0;
    auto const [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size())
        throw_unreadable(written, "the port must be a number from 0 to 65535");
    return port;
}

/// Returns whether the name is one that container or virtual machine software gives to bridges.
bool is_virtual(std::string_view name) {
    static constexpr std::array<std::string_view, 8> prefixes{"docker", "virbr",   "br-",    "veth",
                                                              "cni",    "flannel", "podman", "lxc"};
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// Returns the number of set bits of the mask.
template <std::size_t Size>
int prefix_length(unsigned char const (&mask)[Size]) {
    int bits = 0;
    for (unsigned char const byte : mask) bits += std::popcount(byte);
    return bits;
}

int prefix_of(sockaddr const* mask, int family) {
    if (mask == nullptr) return 0;
    if (family == AF_INET) {
        sockaddr_in v4;
        std::memcpy(&v4, mask, sizeof v4);
        return std::popcount(v4.sin_addr.s_addr);
    }
    sockaddr_in6 v6;
    std::memcpy(&v6, mask, sizeof v6);
    return prefix_length(v6.sin6_addr.s6_addr);
}

/// Returns the address with its scope (fe80::1%eth0), which link-local addresses need.
std::string host_of(sockaddr const* address, int family) {
    std::array<char, NI_MAXHOST> host{};
    socklen_t const length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::getnameinfo(address, length, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return {};
    return host.data();
}

}  // namespace

Address Address::unix_socket(std::string path) { return {Family::unix_socket, std::move(path), 0}; }

Address Address::tcp(std::string host, std::uint16_t port) {
    return {Family::tcp, std::move(host), port};
}

Address Address::parse(std::string_view written) {
    std::string_view rest = written;
    if (rest.starts_with("unix:")) {
        rest.remove_prefix(5);
        if (rest.empty()) throw_unreadable(written, "the path is empty");
        if (rest.find('\0') != rest.npos) throw_unreadable(written, "the path has a zero byte");
        return unix_socket(std::string(rest));
    }
    if (!rest.starts_with("tcp:")) throw_unreadable(written, "neither unix: nor tcp:");
    rest.remove_prefix(4);
    auto const colon = rest.rfind(':');
    if (colon == rest.npos) throw_unreadable(written, "no port");
    std::string_view host = rest.substr(0, colon);
    bool const bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) host = host.substr(1, host.size() - 2);
    if (host.empty()) throw_unreadable(written, "no host");
    // "tcp:fd00::3:4711" would be ambiguous.
    if (!bracketed && host.find(':') != host.npos)
        throw_unreadable(written, "an IPv6 address must be in brackets");
    return tcp(std::string(host), parse_port(written, rest.substr(colon + 1)));
}

std::string Address::text() const {
    if (family == Family::unix_socket) return "unix:" + host;
    bool const v6 = host.find(':') != host.npos;
    return sinew::text("tcp:", v6 ? "[" : "", host, v6 ? "]:" : ":", port);
}

std::vector<Interface> interfaces() {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0)
        throw_errno("this machine's addresses are unknown",
                    "Does a filter forbid netlink sockets?");
    // Rank, then the kernel's order: a stable sort keeps it.
    std::vector<std::pair<std::tuple<bool, bool, bool>, Interface>> found;
    for (ifaddrs const* each = list; each != nullptr; each = each->ifa_next) {
        if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
        int const family = each->ifa_addr->sa_family;
        if (family != AF_INET && family != AF_INET6) continue;
        Interface one{each->ifa_name, host_of(each->ifa_addr, family),
                      prefix_of(each->ifa_netmask, family), (each->ifa_flags & IFF_LOOPBACK) != 0};
        if (one.address.empty()) continue;
        std::tuple const rank{one.loopback, is_virtual(one.name), family == AF_INET6};
        found.emplace_back(rank, std::move(one));
    }
    ::freeifaddrs(list);
    std::stable_sort(found.begin(), found.end(),
                     [](auto const& a, auto const& b) { return a.first < b.first; });
    std::vector<Interface> sorted;
    for (auto& [rank, one] : found) sorted.push_back(std::move(one));
    return sorted;
}

Interface interface_of(std::string const& address) {
    for (auto& each : interfaces()) {
        if (each.address == address) return each;
    }
    return {};
}

}  // namespace sinew::wire
