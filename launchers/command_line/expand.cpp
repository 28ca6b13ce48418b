// SPDX-License-Identifier: Apache-2.0
#include "launchers/command_line/values.hpp"

namespace sinew::launch {
namespace {

using Settings = std::vector<Setting>;

Setting with(Setting const& setting, char const* key, std::string value) {
    return {key, std::move(value), setting.origin, setting.folder};
}

Settings expand_output(Setting const& setting) {
    Settings parts;
    for (std::string const& part : split(setting.value, ',')) {
        std::string const word = lower(part);
        if (word == "tag" || word == "timestamp")
            parts.push_back(
                with(setting, word == "tag" ? "tag-output" : "timestamp-output", "yes"));
        else if (word == "json" || word == "plain") parts.push_back(with(setting, "output", word));
        else if (word.rfind("dir=", 0) == 0)
            parts.push_back(with(setting, "output-filename", part.substr(4)));
        else
            bad_value(setting,
                      "one or more of tag, timestamp, json, plain, dir=DIR, separated by commas");
    }
    return parts;
}

Settings expand_display(Setting const& setting) {
    Settings parts;
    for (std::string const& part : split(lower(setting.value), ',')) {
        if (part == "map" || part == "allocation")
            parts.push_back(with(setting, "report-map", "yes"));
        else if (part == "bind" || part == "bindings")
            parts.push_back(with(setting, "report-bindings", "yes"));
        else bad_value(setting, "map or bind, or both separated by a comma");
    }
    return parts;
}

/// Handles "node:OVERSUBSCRIBE", ":OVERSUBSCRIBE", "ppr:2:node:NOOVERSUBSCRIBE".
Settings expand_map_by(Setting const& setting) {
    Settings parts;
    std::vector<std::string> words = split(lower(setting.value), ':');
    for (; words.size() > 1; words.pop_back()) {
        bool const allow = words.back() == "oversubscribe";
        if (!allow && words.back() != "nooversubscribe") break;
        parts.push_back(with(setting, "oversubscribe", allow ? "yes" : "no"));
    }
    if (words.front() == "ppr") {
        // -N means the same as K ranks per node. They share a key, so that the nearer source wins.
        if (words.size() != 3 || words[2] != "node" || !parse_int(words[1], 1, 1'000'000))
            bad_value(setting, "ppr:K:node, K ranks on each node");
        parts.push_back(with(setting, "npernode", words[1]));
    } else if (words.size() > 1) {
        bad_value(setting,
                  "slot, node, core, socket or ppr:K:node, and then at most "
                  ":OVERSUBSCRIBE or :NOOVERSUBSCRIBE");
    } else if (!words.front().empty() || parts.empty()) {
        parts.push_back(with(setting, "map-by", words.front()));
    }
    return parts;
}

bool is_switch(std::string const& value) {
    for (char const* word : {"0", "1", "2", "yes", "no", "on", "off", "true", "false"})
        if (lower(value) == word) return true;
    return false;
}

}  // namespace

std::vector<Setting> expand(Setting const& setting) {
    if (setting.key == "output") return expand_output(setting);
    if (setting.key == "display") return expand_display(setting);
    if (setting.key == "map-by") return expand_map_by(setting);
    // Fiber's -v CLAIM; -v alone is --verbose, as of mpirun.
    if (setting.key == "verbose" && setting.origin.starts_with("-v=") && !is_switch(setting.value))
        return {with(setting, "volume", setting.value)};
    if (setting.key == "quiet") {
        std::string const value = lower(setting.value);
        if (value == "yes" || value == "1" || value == "on" || value == "true")
            return {with(setting, "verbose", "quiet")};
        return {with(setting, "verbose", setting.value)};
    }
    return {setting};
}

}  // namespace sinew::launch
