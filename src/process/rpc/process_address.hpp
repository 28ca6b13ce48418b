// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <sinew/task/encoding.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sinew::process {

/// Where to find a process of the session. A part of all handles.
struct ProcessAddress {
    std::uint64_t origin = 0;  ///< a random number that identifies the process
    std::string name, host;
    std::vector<std::string> addresses;

    /// The address of a manager of another session, as its guests know it. It has no host, since
    /// the address is sufficient.
    static ProcessAddress of_host(std::string name, std::string const& address) {
        return {0, std::move(name), "", {address}};
    }
    bool is_of_guest() const { return host.empty(); }

    void encode_to(Writer& writer) const {
        encode(writer, std::tie(origin, name, host, addresses));
    }
    static ProcessAddress decode_from(Reader& reader) {
        ProcessAddress address;
        std::tie(address.origin, address.name, address.host, address.addresses) =
            decode<std::tuple<std::uint64_t, std::string, std::string, std::vector<std::string>>>(
                reader);
        return address;
    }
};

}  // namespace sinew::process
