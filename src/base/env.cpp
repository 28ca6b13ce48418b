// SPDX-License-Identifier: Apache-2.0
#include "src/base/env.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew {

std::optional<std::string> env(char const* name) {
    char const* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
}

bool env_flag(char const* name, bool fallback) {
    auto const value = env(name);
    if (!value) return fallback;
    for (char const* yes : {"1", "yes", "on", "true"})
        if (*value == yes) return true;
    for (char const* no : {"0", "no", "off", "false"})
        if (*value == no) return false;
    throw UsageError(
        text(name, "=", *value, " (must be 0 or 1). Unset it for the default, ", fallback ? 1 : 0));
}

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view value) {
    struct Unit {
        std::string_view name;
        double seconds;
    };
    constexpr std::array units{Unit{"", 1},   Unit{"s", 1},    Unit{"ms", 1e-3}, Unit{"us", 1e-6},
                               Unit{"m", 60}, Unit{"min", 60}, Unit{"h", 3600}};
    double number = 0;
    char const* const end = value.data() + value.size();
    auto const [rest, error] = std::from_chars(value.data(), end, number);
    std::string_view const suffix(rest, static_cast<std::size_t>(end - rest));
    for (Unit const& unit : units)
        if (error == std::errc{} && suffix == unit.name && number * unit.seconds >= 1e-9 &&
            number * unit.seconds < 1e9)
            return std::chrono::nanoseconds(std::llround(number * unit.seconds * 1e9));
    return std::nullopt;
}

std::chrono::nanoseconds env_duration(char const* name, std::chrono::nanoseconds fallback) {
    auto const value = env(name);
    if (!value) return fallback;
    if (auto const duration = parse_duration(*value)) return *duration;
    throw UsageError(
        text(name, "=", *value,
             " (must be a positive time such as 30s, 500ms or 5min). Unset it for the default, ",
             std::chrono::duration<double>(fallback).count(), " s"));
}

std::size_t parse_bytes(std::string_view value, std::string_view what) {
    std::size_t number = 0;
    auto const [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    std::string_view const suffix(rest,
                                  static_cast<std::size_t>(value.data() + value.size() - rest));
    struct Unit {
        std::string_view name;
        int shift;
    };
    for (Unit const& unit :
         {Unit{"", 0}, Unit{"K", 10}, Unit{"M", 20}, Unit{"G", 30}, Unit{"k", 10}})
        if (error == std::errc{} && suffix == unit.name &&
            number <= (std::numeric_limits<std::size_t>::max() >> unit.shift))
            return number << unit.shift;
    throw UsageError(text(what, ": ", value, " (must be a size such as 4096, 64K, 16M or 1G)"));
}

}  // namespace sinew
