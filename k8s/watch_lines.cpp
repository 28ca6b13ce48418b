// SPDX-License-Identifier: Apache-2.0
#include "k8s/watch_lines.hpp"

#include <array>
#include <utility>

#include "k8s/objects/json_access.hpp"
#include "k8s/objects/parse_json.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {

std::string WatchLines::read(std::string_view bytes, std::function<bool(Line)> const& take) {
    bool more = true;
    while (more && !bytes.empty()) {
        auto const end = bytes.find('\n');
        if (partial_.size() + std::min(end, bytes.size()) > longest)
            return text("a line of more than ", longest, " bytes");
        if (end == bytes.npos) {
            partial_ += bytes;
            break;
        }
        std::string problem;
        if (partial_.empty()) {
            problem = line(bytes.substr(0, end), take, more);
        } else {
            partial_ += bytes.substr(0, end);
            problem = line(std::exchange(partial_, {}), take, more);
        }
        if (!problem.empty()) return problem;
        bytes.remove_prefix(end + 1);
    }
    return {};
}

std::string WatchLines::line(std::string_view text_line, std::function<bool(Line)> const& take,
                             bool& more) const {
    static constexpr std::array<std::pair<std::string_view, Line::Type>, 5> types{
        {{"ADDED", Line::Type::added},
         {"MODIFIED", Line::Type::modified},
         {"DELETED", Line::Type::deleted},
         {"BOOKMARK", Line::Type::bookmark},
         {"ERROR", Line::Type::error}}};
    if (text_line.find_first_not_of(" \t\r") == text_line.npos) return {};
    auto const event = parse_json(text_line);
    if (!event.is_object()) return "a line that is not a JSON object";
    auto const name = string_in(event, "type");
    auto const& object = member(event, "object");
    for (auto const& [word, type] : types) {
        if (name != word) continue;
        if (!object.is_object()) return "an event without an object";
        more = take({type, object, text_line.size()});
        return {};
    }
    return text("an event of the type \"", name.substr(0, 40), "\"");
}

}  // namespace sinew::k8s
