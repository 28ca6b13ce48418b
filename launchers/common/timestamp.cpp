// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/timestamp.hpp"

#include <array>
#include <cstdio>
#include <ctime>

namespace sinew::launch {

std::int64_t milliseconds_of(std::chrono::system_clock::time_point when) {
    return std::chrono::floor<std::chrono::milliseconds>(when.time_since_epoch()).count();
}

std::string timestamp(std::chrono::system_clock::time_point when) {
    using namespace std::chrono;
    auto const since = floor<milliseconds>(when.time_since_epoch());
    auto const second = floor<seconds>(since);
    auto const now = static_cast<std::time_t>(second.count());
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    std::array<char, 64> buffer{};
    auto const length = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    std::snprintf(buffer.data() + length, buffer.size() - length, ".%03dZ",
                  static_cast<int>((since - second).count()));
    return buffer.data();
}

std::optional<std::chrono::system_clock::time_point> parse_timestamp(std::string_view text) {
    using namespace std::chrono;
    if (text.size() < 20 || text.size() > 40 || text.back() != 'Z') return std::nullopt;
    static constexpr std::string_view form = "dddd-dd-ddTdd:dd:dd";
    std::array<int, 6> fields{};
    std::size_t field = 0;
    for (std::size_t i = 0; i < form.size(); ++i) {
        if (form[i] == 'd') {
            if (text[i] < '0' || text[i] > '9') return std::nullopt;
            fields[field] = fields[field] * 10 + (text[i] - '0');
        } else {
            if (text[i] != form[i]) return std::nullopt;
            ++field;
        }
    }
    auto const date = year_month_day(year(fields[0]), month(static_cast<unsigned>(fields[1])),
                                     day(static_cast<unsigned>(fields[2])));
    if (!date.ok() || fields[0] < 1970 || fields[0] > 2200 || fields[3] > 23 || fields[4] > 59 ||
        fields[5] > 60)
        return std::nullopt;
    auto fraction = text.substr(form.size(), text.size() - form.size() - 1);
    nanoseconds part{};
    if (!fraction.empty()) {
        if (fraction.front() != '.' || fraction.size() < 2) return std::nullopt;
        fraction.remove_prefix(1);
        auto unit = nanoseconds(100'000'000);
        for (char const digit : fraction) {
            if (digit < '0' || digit > '9') return std::nullopt;
            part += unit * (digit - '0');
            unit /= 10;
        }
    }
    return system_clock::time_point(
        duration_cast<system_clock::duration>(sys_days(date).time_since_epoch() + hours(fields[3]) +
                                              minutes(fields[4]) + seconds(fields[5]) + part));
}

}  // namespace sinew::launch
