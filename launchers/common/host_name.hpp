// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "src/base/system/this_host.hpp"

namespace sinew::launch {

/// Whether both names denote one host: they are equal, or one is the other without its domain.
inline bool is_same_host(std::string_view a, std::string_view b) {
    if (a == b) return true;
    auto const& shorter = a.size() < b.size() ? a : b;
    auto const& longer = a.size() < b.size() ? b : a;
    // Addresses have no domain, and a shorter name with a dot has one already.
    return !shorter.empty() && shorter.find_first_of(".:") == shorter.npos &&
           shorter.find_first_not_of("0123456789") != shorter.npos &&
           longer.substr(0, shorter.size()) == shorter && longer[shorter.size()] == '.';
}

/// Whether `host` names the host on which this process runs.
inline bool is_this_host(std::string_view host) {
    return host == "localhost" || host == "127.0.0.1" || host == "::1" ||
           is_same_host(host, host_name());
}

}  // namespace sinew::launch
