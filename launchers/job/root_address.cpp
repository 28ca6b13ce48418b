// SPDX-License-Identifier: Apache-2.0
#include "launchers/job/root_address.hpp"

#include <sys/socket.h>

#include "src/base/system/unique_fd.hpp"

namespace sinew::launch {

wire::Address listen_address(RootPlace const& place) {
    if (!place.folder.empty()) return wire::Address::unix_socket(place.folder + "/root.sock");
    bool six = place.address.find(':') != std::string::npos;
    // A host without IPv6 has no address "::".
    if (place.port != 0)
        six = UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0)) ? true : false;
    return wire::Address::tcp(six ? "::" : "0.0.0.0", place.port);
}

std::vector<std::string> root_addresses(RootPlace const& place, wire::Address const& bound) {
    if (!place.folder.empty()) return {bound.text()};
    // Agents on other hosts come by themselves, and know where to.
    if (place.port != 0) return {wire::Address::tcp("127.0.0.1", bound.port).text()};
    if (!place.address.empty()) return {wire::Address::tcp(place.address, bound.port).text()};
    std::vector<std::string> found;
    for (auto const& interface : wire::interfaces())
        if (interface.address.find(':') == std::string::npos)
            found.push_back(wire::Address::tcp(interface.address, bound.port).text());
    return found;
}

}  // namespace sinew::launch
