// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/parse_json.hpp"

#include <nlohmann/json.hpp>

namespace sinew::k8s {
namespace {

constexpr int max_depth = 200;

bool too_deep(std::string_view text) {
    int depth = 0;
    bool quoted = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        char const c = text[i];
        if (quoted) {
            if (c == '\\') ++i;
            if (c == '"') quoted = false;
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > max_depth) return true;
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return false;
}

}  // namespace

nlohmann::json parse_json(std::string_view text) {
    if (too_deep(text)) return nlohmann::json(nlohmann::json::value_t::discarded);
    return nlohmann::json::parse(text, nullptr, false);
}

}  // namespace sinew::k8s
