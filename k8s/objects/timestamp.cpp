// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/timestamp.hpp"

#include <array>
#include <charconv>
#include <cstdio>

namespace sinew::k8s {
namespace {

// Takes `digits` digits and then `after` from the front.
bool take(std::string_view& text, std::size_t digits, char after, int& value) {
    if (text.size() < digits) return false;
    for (char const c : text.substr(0, digits))
        if (c < '0' || c > '9') return false;
    std::from_chars(text.data(), text.data() + digits, value);
    text.remove_prefix(digits);
    if (after == '\0') return true;
    if (text.empty() || (text.front() | 0x20) != (after | 0x20)) return false;
    text.remove_prefix(1);
    return true;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text) {
    int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
    if (!take(text, 4, '-', year) || !take(text, 2, '-', month) || !take(text, 2, 'T', day) ||
        !take(text, 2, ':', hour) || !take(text, 2, ':', minute) || !take(text, 2, '\0', second))
        return std::nullopt;
    std::chrono::year_month_day const date{std::chrono::year(year),
                                           std::chrono::month(unsigned(month)),
                                           std::chrono::day(unsigned(day))};
    if (!date.ok() || year < 1700 || year > 2200 || hour > 23 || minute > 59 || second > 60)
        return std::nullopt;
    std::chrono::nanoseconds fraction{};
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        std::int64_t unit = 100'000'000;
        std::size_t digits = 0;
        for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
            fraction += std::chrono::nanoseconds((text[digits] - '0') * unit);
            unit /= 10;
        }
        if (digits == 0) return std::nullopt;
        text.remove_prefix(digits);
    }
    std::chrono::minutes offset{};
    if (text != "Z" && text != "z") {
        if (text.empty() || (text[0] != '+' && text[0] != '-')) return std::nullopt;
        int const sign = text[0] == '-' ? -1 : 1;
        text.remove_prefix(1);
        int hours = 0, minutes = 0;
        if (!take(text, 2, ':', hours) || !take(text, 2, '\0', minutes) || !text.empty())
            return std::nullopt;
        offset = std::chrono::minutes(sign * (60 * hours + minutes));
    }
    auto const time = std::chrono::sys_days(date) + std::chrono::hours(hour) +
                      std::chrono::minutes(minute) + std::chrono::seconds(second) + fraction -
                      offset;
    return std::chrono::time_point_cast<std::chrono::system_clock::duration>(time);
}

std::string format_timestamp(std::chrono::system_clock::time_point time) {
    auto const day = std::chrono::floor<std::chrono::days>(time);
    std::chrono::year_month_day const date(day);
    std::chrono::hh_mm_ss const clock(std::chrono::floor<std::chrono::seconds>(time - day));
    std::array<char, 64> line{};
    std::snprintf(line.data(), line.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", int(date.year()),
                  unsigned(date.month()), unsigned(date.day()), int(clock.hours().count()),
                  int(clock.minutes().count()), int(clock.seconds().count()));
    return line.data();
}

}  // namespace sinew::k8s
