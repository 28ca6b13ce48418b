// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/protocol.hpp"

#include <cstring>
#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

// clang-format off
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Place, region, zone, block, rack, machine)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Node, name, host, slots, max_slots, cores, place)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankPlace, node, local_rank, app)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobMap, nodes, ranks, oversubscribed)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(App, argv, ranks, folder, env)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AgentConfig, job, secret, node, name, incarnation, roots, listen,
    folders, patience_ms, by_itself, address, place, process, began_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(JobProgress, epochs, restarts, failures, disruptions)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Hello, node, incarnation, name, version, pid, cores, host,
    address, interface, listen, free_port, unreachable, place, process, began_ms,
    progress, dials)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Placement, parent, address, refused, later)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Attach, nodes, again)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Detached, child, nodes, why, process, incarnation)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Launch, epoch, restart, job, name, data_key, map, agents, parents, addresses, apps, env, folder,
    gpus, bind_to, mpi, stdin_to, master_address, master_port, window, report_bindings, reports, progress)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(StartedRank, rank, pid, error, step)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Exited, rank, pid, code, signal, stopped, joined, left,
    in_world, oom, cause)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Aborted, rank, status, message)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Stop, signal, grace_ms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NameRequest, id, verb, key, value)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NameReply, id, ok, value)
// clang-format on

namespace {

template <class T>
constexpr char const* message_name = "message";
template <>
constexpr char const* message_name<AgentConfig> = "agent configuration";
template <>
constexpr char const* message_name<Hello> = "hello";
template <>
constexpr char const* message_name<Launch> = "launch order";

[[noreturn]] void refuse(char const* kind, std::size_t bytes, int reason) {
    // The text is not quoted, since it may hold the job's secret.
    throw UsageError(text("not a valid ", kind, " of ", bytes, " bytes (reason ", reason,
                          "). Are all agents of the same version of sinew?"));
}

// Of a line for several agents. Throws UsageError if this host is not among them.
nlohmann::json part_of_this_host(nlohmann::json const& all) {
    auto const variable = all.at("host_variable").get<std::string>();
    auto const host = env(variable.c_str()).value_or("");
    auto const& parts = all.at("by_host");
    if (!parts.contains(host))
        throw UsageError(text("the job has no node ", host, " (", variable,
                              " is the name of this one). Name hosts as the batch system does"));
    auto own = all.at("common");
    own.update(parts.at(host));
    return own;
}

}  // namespace

// CBOR carries strings as raw bytes: arguments, folders and variables need not be UTF-8.
template <class T>
std::string encode(T const& value) {
    std::string bytes;
    nlohmann::json::to_cbor(nlohmann::json(value), bytes);
    return bytes;
}

template <class T>
T decode(std::string_view bytes) {
    try {
        return nlohmann::json::from_cbor(bytes).template get<T>();
    } catch (nlohmann::json::exception const& problem) {
        refuse(message_name<T>, bytes.size(), problem.id);
    }
}

std::string config_line(AgentConfig const& config) { return nlohmann::json(config).dump(); }

std::string shared_config_line(std::map<std::string, std::string> const& by_host,
                               std::string_view host_variable) {
    // Everything that the first one has, and what the others have instead.
    auto const common = nlohmann::json::parse(by_host.begin()->second);
    auto differences = nlohmann::json::object();
    for (auto const& [host, line] : by_host) {
        auto& own = differences[host] = nlohmann::json::object();
        auto const config = nlohmann::json::parse(line);
        for (auto const& [key, value] : config.items())
            if (common.at(key) != value) own[key] = value;
    }
    return nlohmann::json{
        {"common", common}, {"by_host", differences}, {"host_variable", host_variable}}
        .dump();
}

AgentConfig parse_config(std::string_view line) {
    try {
        auto json = nlohmann::json::parse(line);
        if (json.is_object() && json.contains("by_host")) json = part_of_this_host(json);
        return json.get<AgentConfig>();
    } catch (nlohmann::json::exception const& problem) {
        refuse(message_name<AgentConfig>, line.size(), problem.id);
    }
}

template <class T>
T take_head(std::span<std::byte const>& bytes) {
    auto const head = take_value<T>(bytes);
    if (!head)
        throw UsageError(text("a message of ", bytes.size(), " bytes where at least ", sizeof(T),
                              " were expected. Are all agents of the same version of sinew?"));
    return *head;
}

#define SINEW_MESSAGE(T)                      \
    template std::string encode<T>(T const&); \
    template T decode<T>(std::string_view);
SINEW_MESSAGE(Hello)
SINEW_MESSAGE(Placement)
SINEW_MESSAGE(Attach)
SINEW_MESSAGE(Detached)
SINEW_MESSAGE(Launch)
SINEW_MESSAGE(std::vector<StartedRank>)
SINEW_MESSAGE(Exited)
SINEW_MESSAGE(Aborted)
SINEW_MESSAGE(Stop)
SINEW_MESSAGE(NameRequest)
SINEW_MESSAGE(NameReply)
#undef SINEW_MESSAGE
template OutputHead take_head(std::span<std::byte const>&);
template ReportHead take_head(std::span<std::byte const>&);
template ModexHead take_head(std::span<std::byte const>&);
template std::int32_t take_head(std::span<std::byte const>&);
template std::int64_t take_head(std::span<std::byte const>&);

}  // namespace sinew::launch
