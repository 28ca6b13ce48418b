// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "launchers/service/service_entry.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew::launch::service {

inline constexpr int default_port = 7420;
inline constexpr int default_registry_port = 7421;

/// Where services are looked up.
struct ServiceSources {
    std::string file;      ///< of services; empty: ~/.config/sinew/services, if it is there
    std::string registry;  ///< HOST[:PORT]; empty: none
};

/// All services of the file and the registry. Throws UsageError and Unavailable.
std::vector<ServiceEntry> known_services(ServiceSources const& sources, wire::Secret const& key);

/// The addresses ("HOST:PORT") of what --at names: hosts with ports, hosts, and names of services,
/// separated by commas. A word without a port is a service if one is known by that name, and a host
/// otherwise.
std::vector<std::string> resolve_servers(std::string_view list, ServiceSources const& sources,
                                         wire::Secret const& key);

/// "HOST:PORT" of HOST, HOST:PORT, ADDRESS or [ADDRESS]:PORT. Throws UsageError.
std::string with_port(std::string_view host, int port);

}  // namespace sinew::launch::service
