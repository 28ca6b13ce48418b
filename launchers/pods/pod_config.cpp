// SPDX-License-Identifier: Apache-2.0
#include "launchers/pods/pod_config.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "launchers/command_line/values.hpp"
#include "src/base/text.hpp"
#include "src/wire/tls/secret.hpp"

namespace sinew::launch {
namespace {

using PodJson = nlohmann::json;

constexpr int most_nodes = 100'000;
constexpr std::size_t longest_name = 63;  // it is part of file names and of Kubernetes' labels
constexpr std::int64_t longest_patience_ms = std::int64_t{7} * 24 * 3600 * 1000;

[[noreturn]] void refuse(std::string_view key, std::string const& expected) {
    throw UsageError(text("the configuration of the pods: key ", key, " (must be ", expected,
                          "). Was it made by `sinew run --backend kubernetes` of this version?"));
}

PodJson const& value_of(PodJson const& all, char const* key) {
    auto const found = all.find(key);
    if (found == all.end()) refuse(key, "present");
    return *found;
}

std::string take_string(PodJson const& all, char const* key) {
    auto const& value = value_of(all, key);
    if (!value.is_string()) refuse(key, "a string");
    return value.get<std::string>();
}

std::int64_t take_integer(PodJson const& all, char const* key, std::int64_t least,
                          std::int64_t most) {
    auto const& value = value_of(all, key);
    bool const fits =
        value.is_number_unsigned()
            ? value.get<std::uint64_t>() <= std::uint64_t(std::numeric_limits<std::int64_t>::max())
            : value.is_number_integer();
    if (!fits || value.get<std::int64_t>() < least || value.get<std::int64_t>() > most)
        refuse(key, text("a whole number from ", least, " to ", most));
    return value.get<std::int64_t>();
}

std::vector<std::string> take_words(PodJson const& all, char const* key) {
    auto const& value = value_of(all, key);
    bool const words = value.is_array() && !value.empty() &&
                       std::all_of(value.begin(), value.end(),
                                   [](PodJson const& word) { return word.is_string(); });
    if (!words) refuse(key, "a list of strings, the arguments of sinew run");
    auto found = value.get<std::vector<std::string>>();
    for (auto const& word : found)
        if (word.find('\0') != word.npos) refuse(key, "without a zero byte");
    return found;
}

bool is_name(std::string_view words) {
    return !words.empty() && words.size() <= longest_name &&
           std::all_of(words.begin(), words.end(),
                       [](unsigned char c) { return c < 0x80 && std::isalnum(c) != 0; });
}

void check_keys(PodJson const& all) {
    constexpr std::array<std::string_view, 7> known{
        "job", "secret", "nodes", "port", "discovery", "run", "root_patience_ms"};
    for (auto const& [key, value] : all.items())
        if (std::find(known.begin(), known.end(), key) == known.end())
            refuse(key.substr(0, longest_name), "absent: it is not known");
}

}  // namespace

PodConfig parse_pod_config(std::string_view line) {
    auto const all = PodJson::parse(line, nullptr, false);
    if (!all.is_object())
        throw UsageError(text("the configuration of the pods, of ", line.size(),
                              " bytes, is not a JSON object"));
    check_keys(all);
    PodConfig config{.job = take_string(all, "job"),
                     .secret = take_string(all, "secret"),
                     .nodes = static_cast<int>(take_integer(all, "nodes", 1, most_nodes)),
                     .port = static_cast<std::uint16_t>(take_integer(all, "port", 1, 65535)),
                     .discovery = take_string(all, "discovery"),
                     .run = take_words(all, "run"),
                     .root_patience = std::chrono::milliseconds(
                         take_integer(all, "root_patience_ms", 1, longest_patience_ms))};
    if (!is_name(config.job)) refuse("job", text("1 to ", longest_name, " letters and digits"));
    if (config.discovery != "vip" && config.discovery != "dns" && config.discovery != "api")
        refuse("discovery", "vip, dns or api");
    try {
        wire::Secret::from_hex(config.secret);
    } catch (UsageError const&) {
        refuse("secret", "64 hexadecimal digits");
    }
    return config;
}

bool is_pod_config(std::string_view line) {
    auto const all = PodJson::parse(line, nullptr, false);
    return all.is_object() && all.contains("run");
}

std::optional<int> read_wanted_nodes(std::string const& config_path) {
    std::ifstream file(std::filesystem::path(config_path).parent_path() / "nodes");
    std::string words(16, '\0');
    file.read(words.data(), static_cast<std::streamsize>(words.size()));
    words.resize(static_cast<std::size_t>(file.gcount()));
    return parse_int(trim(std::string_view(words).substr(0, words.find('\n'))), 1, most_nodes);
}

}  // namespace sinew::launch
