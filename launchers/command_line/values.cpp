// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/values.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>

#include <sinew/error.hpp>

#include "launchers/command_line/flags.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

std::string lower(std::string text) {
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

std::string_view trim(std::string_view text) {
    constexpr std::string_view blank = " \t\r";
    text.remove_prefix(std::min(text.find_first_not_of(blank), text.size()));
    return text.substr(0, text.find_last_not_of(blank) + 1);
}

std::vector<std::string> split(std::string_view text, char at) {
    std::vector<std::string> parts;
    for (;;) {
        std::size_t const end = std::min(text.find(at), text.size());
        parts.emplace_back(text.substr(0, end));
        if (end == text.size()) return parts;
        text.remove_prefix(end + 1);
    }
}

std::optional<int> parse_int(std::string_view text, int least, int most) {
    int number = 0;
    char const* const end = text.data() + text.size();
    auto const [rest, error] = std::from_chars(text.data(), end, number);
    bool const whole = error == std::errc{} && rest == end && text.front() != '-';
    return whole && number >= least && number <= most ? std::optional(number) : std::nullopt;
}

std::string read_text(std::string const& path, std::string const& what) {
    constexpr std::size_t longest = std::size_t{64} << 20;  // /dev/zero has no end
    errno = 0;
    std::ifstream file(path, std::ios::binary);
    std::string content;
    char buffer[4096];
    while (file && content.size() <= longest) {
        file.read(buffer, sizeof buffer);
        content.append(buffer, static_cast<std::size_t>(file.gcount()));
    }
    // A folder can be opened, but not read.
    if (!file.is_open() || file.bad() || errno == EISDIR)
        throw UsageError(text(what, " ", path, " cannot be read (",
                              errno != 0 ? std::strerror(errno) : "reading failed", ")"));
    if (content.size() > longest)
        throw UsageError(text(what, " ", path, " is longer than ", longest, " bytes"));
    return content;
}

bool to_flag(Setting const& setting) {
    std::string const value = lower(setting.value);
    for (char const* yes : {"1", "yes", "on", "true"})
        if (value == yes) return true;
    for (char const* no : {"0", "no", "off", "false"})
        if (value == no) return false;
    bad_value(setting, "yes or no");
}

int to_count(Setting const& setting, int least, int most) {
    if (auto const number = parse_int(setting.value, least, most)) return *number;
    bad_value(setting, text("a whole number from ", least, " to ", most));
}

std::chrono::nanoseconds to_time(Setting const& setting, bool zero) {
    if (zero && (setting.value == "0" || setting.value == "0s")) return {};
    if (auto const time = parse_duration(setting.value)) return *time;
    bad_value(setting, std::string(zero ? "0 or " : "") + "a time such as 30s, 500ms or 5min");
}

/// Returns the index of the value in `choices`.
std::size_t to_choice(Setting const& setting, std::vector<std::string_view> const& choices) {
    auto const at = std::find(choices.begin(), choices.end(), lower(setting.value));
    if (at != choices.end()) return static_cast<std::size_t>(at - choices.begin());
    std::string list;
    for (std::size_t i = 0; i < choices.size(); ++i)
        list += (i == 0 ? "" : i + 1 == choices.size() ? " or " : ", ") + std::string(choices[i]);
    bad_value(setting, list);
}

std::string to_words(Setting const& setting) {
    if (setting.value.empty())
        bad_value(setting, text("not empty: ", find_key(setting.key)->value));
    return setting.value;
}

void bad_value(Setting const& setting, std::string const& expected) {
    throw UsageError(text(setting.origin, " (must be ", expected, ")"));
}

std::string resolve(std::string const& path, std::string const& folder, std::string const& home) {
    if (path.rfind("~/", 0) == 0 && !home.empty()) return home + path.substr(1);
    return path.rfind('/', 0) == 0 || folder.empty() ? path : folder + "/" + path;
}

}  // namespace sinew::launch
