// SPDX-License-Identifier: Apache-2.0
#include "launchers/agent/place.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sinew/error.hpp>
#include <vector>

#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

constexpr std::size_t longest_label = 64;
// Room for four labels, the slashes between them, and blanks.
constexpr std::size_t longest_line = 1024;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

bool is_of_label(char c) {
    auto const byte = static_cast<unsigned char>(c);
    return byte < 0x80 && (std::isalnum(byte) != 0 || c == '.' || c == '_' || c == '-');
}

[[noreturn]] void bad_place(std::string const& origin, std::string_view words, char const* why) {
    constexpr std::size_t shown = 80;
    std::string safe(words.substr(0, shown));
    std::replace_if(
        safe.begin(), safe.end(), [](unsigned char c) { return c < ' ' || c >= 0x7f; }, '?');
    throw UsageError(text(origin, ": ", safe, words.size() > shown ? "..." : "", " (", why,
                          "). Write region/zone/block/rack, block/rack or rack"));
}

}  // namespace

Place parse_place(std::string_view words, std::string const& origin) {
    while (!words.empty() && is_blank(words.front())) words.remove_prefix(1);
    while (!words.empty() && is_blank(words.back())) words.remove_suffix(1);
    Place place;
    std::array<std::string*, 4> const parts{&place.rack, &place.block, &place.zone, &place.region};
    std::string_view rest = words;
    for (std::size_t i = 0;; ++i) {
        if (i == parts.size()) bad_place(origin, words, "more than four parts");
        auto const slash = rest.rfind('/');
        auto const label = slash == rest.npos ? rest : rest.substr(slash + 1);
        if (label.size() > longest_label) bad_place(origin, words, "a part is too long");
        if (!std::all_of(label.begin(), label.end(), is_of_label))
            bad_place(origin, words, "letters, digits and ._- are expected");
        *parts[i] = label;
        if (slash == rest.npos) return place;
        rest = rest.substr(0, slash);
    }
}

Place place_of_this_node(std::string const& file) {
    if (auto const words = env("SINEW_PLACE")) return parse_place(*words, "SINEW_PLACE");
    std::ifstream in(file);
    if (!in && (errno == ENOENT || errno == ENOTDIR)) return {};
    std::string line(longest_line + 1, '\0');
    in.read(line.data(), static_cast<std::streamsize>(line.size()));
    if (in.gcount() == 0 && !in.eof())
        throw UsageError(text(file, " cannot be read (", std::strerror(errno),
                              "). Make it readable, remove it, or set SINEW_PLACE"));
    line.resize(static_cast<std::size_t>(in.gcount()));
    return parse_place(std::string_view(line).substr(0, line.find('\n')), file);
}

}  // namespace sinew::launch
