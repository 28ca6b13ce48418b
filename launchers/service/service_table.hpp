// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/service/service_entry.hpp"

namespace sinew::launch::service {

/// The servers that a registry knows. Each is forgotten unless it announces itself again in time.
class ServiceTable {
public:
    using Time = std::chrono::steady_clock::time_point;
    static constexpr std::size_t most_services = 10'000;

    explicit ServiceTable(std::chrono::milliseconds expiry) : expiry_(expiry) {}

    /// Replaces what is known of its address. Throws UsageError if there are too many servers.
    void announce(ServiceEntry const& service, Time now);
    /// By address.
    std::vector<ServiceEntry> services(Time now);

private:
    struct Known {
        ServiceEntry service;
        Time expires;
    };
    void forget_expired(Time now);

    std::chrono::milliseconds const expiry_;
    std::map<std::string, Known> by_address_;
};

/// Those that have this name or alias, in any case of letters.
std::vector<ServiceEntry> find_services(std::vector<ServiceEntry> const& services,
                                        std::string_view name);
/// "tensorflow, tensorflow-2.1": all names, each once; "none" if there are none.
std::string names_of(std::vector<ServiceEntry> const& services);

/// Reads a file with services, one a line: HOST:PORT NAME [ALIAS...]. '#' begins a comment. Throws
/// UsageError, which names the line of `path`.
std::vector<ServiceEntry> parse_services(std::string_view content, std::string const& path);

}  // namespace sinew::launch::service
