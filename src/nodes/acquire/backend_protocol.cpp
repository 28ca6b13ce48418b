// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/acquire/backend_protocol.hpp"

#include <array>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/text.hpp"
#include "src/wire/hello.hpp"

namespace sinew::nodes {
namespace {

using Json = nlohmann::json;

// Bytes that are not UTF-8 (in names of files, for example) must not end the program.
std::string line_of(Json const& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string word(Json const& json, char const* key) {
    auto const found = json.find(key);
    if (found == json.end()) return {};
    return found->get<std::string>();
}

template <class Value, std::size_t size>
Value value_of(std::array<std::pair<char const*, Value>, size> const& table,
               std::string const& name) {
    for (auto const& [each, value] : table)
        if (name == each) return value;
    throw DecodeError(text("\"", wire::printable(name), "\" is not known"));
}

BackendEvent event_of(Json const& json) {
    using Kind = BackendEvent::Kind;
    using State = BackendEvent::State;
    constexpr std::array<std::pair<char const*, Kind>, 3> kinds{
        {{"ready", Kind::ready}, {"state", Kind::state}, {"failed", Kind::failed}}};
    constexpr std::array<std::pair<char const*, State>, 5> states{{{"waiting", State::waiting},
                                                                   {"pulling", State::pulling},
                                                                   {"running", State::running},
                                                                   {"failed", State::failed},
                                                                   {"gone", State::gone}}};
    BackendEvent event{.kind = value_of(kinds, word(json, "event"))};
    if (event.kind == Kind::failed) event.text = wire::printable(word(json, "text"));
    if (event.kind != Kind::state) return event;
    event.node = word(json, "node");
    event.state = value_of(states, word(json, "state"));
    event.text = wire::printable(word(json, "reason"));
    return event;
}

}  // namespace

std::string request_line(NodesOptions const& options, std::string const& backend,
                         std::string const& program, std::string const& configuration) {
    std::error_code none;
    Json env = Json::object();
    for (auto const& each : options.env) {
        auto const at = each.find('=');
        env[each.substr(0, at)] = each.substr(at + 1);
    }
    return line_of({{"backend", backend},
                    {"count", options.count},
                    {"hosts", options.hosts},
                    {"launch_agent", options.launch_agent},
                    {"command", Json::array({program})},
                    {"folder", std::filesystem::current_path(none).string()},
                    {"env", env},
                    {"cpu", options.meta.cpu},
                    {"memory_mib", options.meta.memory_mib},
                    {"gpu", options.meta.gpu},
                    {"image", options.image},
                    {"mounts", options.mounts},
                    {"name", options.name},
                    {"time_limit_ms",
                     std::chrono::ceil<std::chrono::milliseconds>(options.time_limit).count()},
                    {"priority", options.priority},
                    {"replace", options.replace},
                    {"configuration", configuration}});
}

std::string count_line(int count) { return line_of({{"count", count}}); }
std::string joined_line(std::string const& id) { return line_of({{"joined", id}}); }
std::string lost_line(std::string const& id) { return line_of({{"lost", id}}); }

BackendEvent parse_event(std::string_view line) try {
    return event_of(Json::parse(line));
} catch (Json::exception const& problem) {
    throw DecodeError(text("a line of sinew acquire cannot be read (", wire::printable(line), ": ",
                           wire::printable(problem.what()), ")"));
}

}  // namespace sinew::nodes
