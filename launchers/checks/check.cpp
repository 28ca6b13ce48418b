// SPDX-License-Identifier: Apache-2.0
#include "launchers/checks/check.hpp"

#include <array>
#include <cstdio>

namespace sinew::launch {

std::string_view name(Severity severity) {
    constexpr std::array<std::string_view, 4> names{"ok", "note", "warning", "error"};
    return names[static_cast<std::size_t>(severity)];
}

std::vector<Check> checks() {
    std::vector<Check> all;
    for (auto const& some : {machine_checks(), software_checks(), network_checks(), host_checks()})
        all.insert(all.end(), some.begin(), some.end());
    return all;
}

std::string bytes_text(double bytes) {
    constexpr std::array<char const*, 5> units{"bytes", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
    std::array<char, 48> text{};
    bool const whole = bytes == static_cast<double>(static_cast<long long>(bytes)) || bytes >= 100;
    std::snprintf(text.data(), text.size(), whole ? "%.0f %s" : "%.1f %s", bytes, units[unit]);
    return text.data();
}

}  // namespace sinew::launch
