// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/kubectl/kubectl_output.hpp"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "src/base/text.hpp"

namespace sinew::launch::kubernetes {
namespace {

constexpr std::size_t longest_reason = 2000;

bool take(std::string_view& words, std::string_view prefix) {
    if (!words.starts_with(prefix)) return false;
    words.remove_prefix(prefix.size());
    return true;
}

std::optional<std::uint16_t> take_port(std::string_view& words) {
    std::uint16_t port = 0;
    auto const* const begin = words.data();
    auto const [end, error] = std::from_chars(begin, begin + words.size(), port);
    if (error != std::errc() || port == 0) return std::nullopt;
    words.remove_prefix(static_cast<std::size_t>(end - begin));
    return port;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Of "E1125 01:02:03.4 5 portforward.go:424] "Unhandled Error" err="words"" the words, as Go has quoted
// them.
std::string without_log_head(std::string_view line) {
    bool const logged = line.size() > 5 && std::string_view("IWEF").find(line[0]) != line.npos &&
                        std::all_of(line.begin() + 1, line.begin() + 5, is_digit);
    if (!logged) return std::string(line);
    if (auto const at = line.find("] "); at != line.npos) line.remove_prefix(at + 2);
    auto const begin = line.find("err=\""), end = line.rfind('"');
    if (begin == line.npos || end < begin + 5) return std::string(line);
    std::string words;
    for (auto const c : line.substr(begin + 5, end - begin - 5))
        if (c == '"' && !words.empty() && words.back() == '\\') words.back() = c;
        else words += c;
    return words;
}

}  // namespace

std::optional<ForwardingLine> parse_forwarding_line(std::string_view line) {
    if (!take(line, "Forwarding from ")) return std::nullopt;
    bool const bracket = take(line, "[");
    auto const end = line.find(bracket ? "]:" : ":");
    if (end == line.npos || end == 0) return std::nullopt;
    ForwardingLine found{.address = std::string(line.substr(0, end))};
    line.remove_prefix(end + (bracket ? 2 : 1));
    auto const local = take_port(line);
    if (!local || !take(line, " -> ")) return std::nullopt;
    auto const remote = take_port(line);
    if (!remote || !line.empty()) return std::nullopt;
    found.local = *local;
    found.remote = *remote;
    return found;
}

std::string kubectl_reason(std::string_view errors) {
    std::string reason;
    while (!errors.empty()) {
        auto const end = errors.find('\n');
        auto words = without_log_head(errors.substr(0, end));
        errors.remove_prefix(end == errors.npos ? errors.size() : end + 1);
        if (words.starts_with("error: ")) words.erase(0, 7);
        for (char& c : words)
            if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
        if (words.find_first_not_of(' ') == words.npos) continue;
        if (reason.find(words) == reason.npos) reason += (reason.empty() ? "" : "; ") + words;
    }
    if (reason.size() > longest_reason) reason.resize(longest_reason);
    return reason;
}

// pods "train-0-abcde" is forbidden: User "alice" cannot create resource "pods/portforward" in ...
std::optional<std::string> missing_right(std::string_view reason) {
    auto at = reason.find(" is forbidden: ");
    if (at == reason.npos) return std::nullopt;
    at = reason.find(" cannot ", at);
    auto const middle = reason.find(" resource \"", std::min(at, reason.size()));
    if (at == reason.npos || middle == reason.npos || middle < at + 8) return std::nullopt;
    auto const end = reason.find('"', middle + 11);
    if (end == reason.npos) return std::nullopt;
    return text(reason.substr(at + 8, middle - at - 8), " ",
                reason.substr(middle + 11, end - middle - 11));
}

}  // namespace sinew::launch::kubernetes
