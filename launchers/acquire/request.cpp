// SPDX-License-Identifier: Apache-2.0
#include "launchers/acquire/request.hpp"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using RequestJson = nlohmann::json;
constexpr int most_acquired = 1 << 16;
constexpr int most_devices = 1 << 20;
constexpr int most_priority = 1000;
constexpr std::int64_t longest_ms = INT64_MAX / 1'000'000;

[[noreturn]] void refuse(char const* what) {
    throw UsageError(text("a line of standard input cannot be read (", what,
                          "). sinew acquire is started by Nodes::acquire, not by hand"));
}

template <class Value>
void take(RequestJson const& json, char const* key, Value& into) {
    if (auto const found = json.find(key); found != json.end()) into = found->get<Value>();
}

void take_count(RequestJson const& json, char const* key, int& into, int most, int least = 0) {
    std::int64_t number = into;
    if (auto const found = json.find(key); found != json.end()) {
        if (!found->is_number_integer()) refuse(key);
        number = found->get<std::int64_t>();
    }
    if (number < least || number > most) refuse(key);
    into = static_cast<int>(number);
}

void take_time(RequestJson const& json, char const* key, std::chrono::milliseconds& into) {
    auto const found = json.find(key);
    if (found == json.end()) return;
    if (!found->is_number_integer()) refuse(key);
    auto const number = found->get<std::int64_t>();
    if (number < 0 || number > longest_ms) refuse(key);
    into = std::chrono::milliseconds(number);
}

// Words become arguments and variables of programs, in which no zero byte can be.
bool is_clean(std::string const& word) { return word.find('\0') == std::string::npos; }

// A host that begins with a dash would be an option of ssh.
bool is_host(std::string const& word) {
    auto const is_part = [](unsigned char each) {
        return std::isalnum(each) != 0 ||
               std::string_view("-_.:@%").find(static_cast<char>(each)) != std::string_view::npos;
    };
    return !word.empty() && word.front() != '-' && std::ranges::all_of(word, is_part);
}

void check(AcquireRequest const& request) {
    if (request.command.empty() || request.command.front().empty()) refuse("command");
    if (!std::ranges::all_of(request.command, is_clean) || !is_clean(request.folder))
        refuse("command");
    if (!std::ranges::all_of(request.hosts, is_host)) refuse("hosts");
    if (!std::ranges::all_of(request.mounts, is_clean)) refuse("mounts");
    for (auto const& [name, value] : request.env)
        if (name.empty() || name.find('=') != std::string::npos || !is_clean(name + value))
            refuse("env");
    if (request.configuration.find('\n') != std::string::npos) refuse("configuration");
    auto const is_name = [](char each) {
        return (each >= 'a' && each <= 'z') || (each >= '0' && each <= '9') || each == '-';
    };
    if (request.name.empty() || !std::ranges::all_of(request.name, is_name)) refuse("name");
}

std::string request_line(RequestJson const& json) {
    return json.dump(-1, ' ', false, RequestJson::error_handler_t::replace) + "\n";
}

}  // namespace

AcquireRequest parse_acquire_request(std::string_view line) try {
    auto const json = RequestJson::parse(line);
    if (!json.is_object()) refuse("not an object");
    AcquireRequest request;
    take(json, "backend", request.backend);
    take_count(json, "count", request.count, most_acquired);
    take(json, "hosts", request.hosts);
    take(json, "launch_agent", request.launch_agent);
    take(json, "command", request.command);
    take(json, "folder", request.folder);
    take(json, "env", request.env);
    take_count(json, "cpu", request.cpu, most_devices);
    take(json, "memory_mib", request.memory_mib);
    take_count(json, "gpu", request.gpu, most_devices);
    take(json, "image", request.image);
    take(json, "mounts", request.mounts);
    take(json, "name", request.name);
    take_time(json, "time_limit_ms", request.time_limit);
    take_count(json, "priority", request.priority, most_priority, -most_priority);
    take(json, "replace", request.replace);
    take(json, "configuration", request.configuration);
    check(request);
    return request;
} catch (RequestJson::exception const&) {
    refuse("not as expected");
}

AcquireCommand parse_acquire_command(std::string_view line) try {
    auto const json = RequestJson::parse(line);
    if (!json.is_object()) refuse("not an object");
    AcquireCommand command;
    if (json.contains("count")) take_count(json, "count", command.count.emplace(), most_acquired);
    if (json.contains("joined")) take(json, "joined", command.joined.emplace());
    if (json.contains("lost")) take(json, "lost", command.lost.emplace());
    return command;
} catch (RequestJson::exception const&) {
    refuse("not as expected");
}

std::string ready_line() { return request_line({{"event", "ready"}}); }

std::string failed_line(std::string const& why) {
    return request_line({{"event", "failed"}, {"text", why}});
}

std::string state_line(std::string const& node, std::string const& state,
                       std::string const& reason) {
    return request_line({{"event", "state"}, {"node", node}, {"state", state}, {"reason", reason}});
}

}  // namespace sinew::launch
