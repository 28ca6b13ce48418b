// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::wire {

/// An address to listen on or dial: "unix:/run/x/agent.sock", "tcp:10.0.0.3:4711",
/// "tcp:[fd00::3]:4711".
struct Address {
    enum class Family : std::uint8_t { unix_socket, tcp };
    Family family = Family::unix_socket;
    std::string
        host;  ///< path of a Unix socket; for TCP an address (names are resolved when dialling)
    std::uint16_t port = 0;

    static Address unix_socket(std::string path);
    static Address tcp(std::string host, std::uint16_t port);
    /// Throws UsageError naming the text and the accepted forms.
    static Address parse(std::string_view text);
    std::string text() const;
    friend bool operator==(Address const&, Address const&) = default;
};

/// An address of this machine, on an interface that is up.
struct Interface {
    std::string name;     ///< "eth0"
    std::string address;  ///< "10.0.0.3"
    int prefix = 0;       ///< 24
    bool loopback = false;
};

/// IPv4 before IPv6, loopback last, virtual bridges (docker0, virbr0, ...) after real interfaces.
std::vector<Interface> interfaces();
/// The interface that has this address; with an empty name if none has.
Interface interface_of(std::string const& address);

}  // namespace sinew::wire
