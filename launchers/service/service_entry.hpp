// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch::service {

/// A server that can be found by its names.
struct ServiceEntry {
    std::string address;             ///< "10.0.0.3:7420"
    std::vector<std::string> names;  ///< the name and its aliases, in lower case
    friend bool operator==(ServiceEntry const&, ServiceEntry const&) = default;
};

/// A name of a service in lower case: up to 63 letters, digits, '-', '_' and '.', the first of which
/// is a letter. Throws UsageError, which names it.
std::string service_name(std::string_view name);
/// Throws UsageError unless it is "HOST:PORT" or "[ADDRESS]:PORT".
void check_service_address(std::string_view address);

}  // namespace sinew::launch::service
