// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/acquire/agent_config.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>

#include "src/wire/hello.hpp"

namespace sinew::nodes {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse() {
    throw UsageError(
        "the configuration of this node agent cannot be read. SINEW_NODE_CONFIG is set by sinew "
        "acquire only; unset it if you started this program yourself");
}

int count_in(Json const& json, char const* key) {
    auto const number = json.at(key).get<std::int64_t>();
    if (number < 0 || number > std::numeric_limits<int>::max()) refuse();
    return static_cast<int>(number);
}

}  // namespace

std::string config_line(AgentConfig const& config) {
    Json const json{{"session", config.session}, {"addresses", config.addresses},
                    {"master", config.master},   {"env", config.env},
                    {"cpu", config.meta.cpu},    {"memory_mib", config.meta.memory_mib},
                    {"gpu", config.meta.gpu},    {"gpus", config.gpus}};
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

AgentConfig parse_config(std::string_view line) try {
    auto const json = Json::parse(line);
    AgentConfig config{.session = json.at("session").get<std::string>(),
                       .addresses = json.at("addresses").get<std::vector<std::string>>(),
                       .master = wire::printable(json.at("master").get<std::string>()),
                       .env = json.at("env").get<std::vector<std::string>>(),
                       .meta = {.cpu = count_in(json, "cpu"),
                                .memory_mib = json.at("memory_mib").get<std::size_t>(),
                                .gpu = count_in(json, "gpu")},
                       .gpus = json.at("gpus").get<std::vector<std::string>>()};
    auto const is_variable = [](std::string const& each) {
        return each.find('=') != std::string::npos && each.front() != '=' &&
               each.find('\0') == std::string::npos;
    };
    if (config.addresses.empty() || !std::all_of(config.env.begin(), config.env.end(), is_variable))
        refuse();
    return config;
} catch (Json::exception const&) {
    refuse();
}

std::vector<std::byte> encode_join(JoinMessage const& message) {
    Writer writer;
    encode(writer, message.id);
    encode(writer, message.host);
    encode(writer, message.program);
    encode(writer, std::int64_t{message.cores});
    encode(writer, std::int64_t{message.gpus});
    encode(writer, message.memory_mib);
    auto const bytes = writer.bytes();
    return {bytes.begin(), bytes.end()};
}

JoinMessage decode_join(std::span<std::byte const> bytes) {
    Reader reader(bytes);
    JoinMessage message;
    message.id = wire::printable(decode<std::string>(reader));
    message.host = wire::printable(decode<std::string>(reader));
    message.program = wire::printable(decode<std::string>(reader));
    constexpr std::int64_t most = 1 << 20;
    message.cores =
        static_cast<int>(std::clamp<std::int64_t>(decode<std::int64_t>(reader), 1, most));
    message.gpus =
        static_cast<int>(std::clamp<std::int64_t>(decode<std::int64_t>(reader), 0, most));
    message.memory_mib = decode<std::uint64_t>(reader);
    return message;
}

}  // namespace sinew::nodes
