// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/protocol.hpp"

#include <algorithm>
#include <array>
#include <sinew/error.hpp>

#include "launchers/common/flat_json.hpp"
#include "launchers/common/timestamp.hpp"
#include "launchers/service/json_fields.hpp"

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using Verb = ClientRequest::Verb;
using Kind = ServerAnswer::Kind;

constexpr std::array verb_names{"submit", "status",   "list",    "follow",
                                "stop",   "announce", "services"};
constexpr std::array kind_names{"accepted", "error", "status",   "jobs",
                                "state",    "end",   "stopping", "services"};
constexpr std::size_t longest_text = std::size_t{64} << 10, most_entries = 10'000;
constexpr std::int64_t most = std::int64_t{1} << 53;
constexpr int most_count = 0x7fffffff;

template <class Names>
std::size_t index_of(Names const& names, std::string const& word, char const* what) {
    auto const at = std::ranges::find(names, word);
    if (at == names.end()) throw UsageError(text(what, " is not known to this sinew"));
    return static_cast<std::size_t>(at - names.begin());
}

Json json_of(Resources const& resources) {
    return {{"gpus", resources.gpus}, {"cpus", resources.cpus}, {"memory", resources.memory}};
}

Resources parse_resources(Json const& json) {
    return {.gpus = static_cast<int>(number_field(json, "gpus", 0, most_count)),
            .cpus = static_cast<int>(number_field(json, "cpus", 0, most_count)),
            .memory = static_cast<std::uint64_t>(number_field(json, "memory", 0, INT64_MAX))};
}

Json json_of(ServiceEntry const& service) {
    return {{"address", service.address}, {"names", service.names}};
}

ServiceEntry parse_service(Json const& json) {
    constexpr std::size_t most_names = 32, longest_name = 64;
    ServiceEntry service{.address = text_field(json, "address", longest_text), .names = {}};
    check_service_address(service.address);
    auto const& names = json.at("names");
    if (!names.is_array() || names.empty() || names.size() > most_names)
        throw UsageError(text("names of a service (must be a list of 1 to ", most_names, ")"));
    for (auto const& each : names) {
        auto const& name = each.get_ref<std::string const&>();
        service.names.push_back(service_name(std::string_view(name).substr(0, longest_name)));
    }
    return service;
}

Json json_of(std::optional<JobSummary::Time> const& time) {
    return time ? Json(milliseconds_of(*time)) : Json();
}

std::optional<JobSummary::Time> time_field(Json const& json, char const* key) {
    if (json.at(key).is_null()) return std::nullopt;
    constexpr std::int64_t latest = 7'258'118'400'000;  // the year 2200
    return JobSummary::Time(std::chrono::milliseconds(number_field(json, key, 0, latest)));
}

Json json_of(JobEntry const& job) {
    return {{"id", job.id},
            {"name", job.name},
            {"state", job.state},
            {"command", job.command},
            {"owner", job.owner},
            {"gpus", job.gpus},
            {"cause", job.cause},
            {"needs", json_of(job.needs)},
            {"ranks", job.ranks},
            {"priority", job.priority},
            {"submitted_ms", milliseconds_of(job.submitted)},
            {"started_ms", json_of(job.started)},
            {"ended_ms", json_of(job.ended)},
            {"exit_code", job.exit_code ? Json(*job.exit_code) : Json()},
            {"memory_in_use", job.memory_in_use}};
}

JobEntry parse_job(Json const& json) {
    JobEntry job;
    job.id = number_field(json, "id", 0, most);
    job.name = text_field(json, "name", longest_text);
    job.state = text_field(json, "state", longest_text);
    job.command = text_field(json, "command", longest_text);
    job.owner = text_field(json, "owner", longest_text);
    job.gpus = text_field(json, "gpus", longest_text);
    job.cause = text_field(json, "cause", longest_text);
    job.needs = parse_resources(json.at("needs"));
    job.ranks = static_cast<int>(number_field(json, "ranks", 0, most_count));
    job.priority = static_cast<int>(number_field(json, "priority", -most_priority, most_priority));
    job.submitted = time_field(json, "submitted_ms").value_or(JobSummary::Time{});
    job.started = time_field(json, "started_ms");
    job.ended = time_field(json, "ended_ms");
    if (!json.at("exit_code").is_null())
        job.exit_code = static_cast<int>(number_field(json, "exit_code", 0, 255));
    job.memory_in_use =
        static_cast<std::uint64_t>(number_field(json, "memory_in_use", 0, INT64_MAX));
    return job;
}

template <class Parsed, class Parse>
std::vector<Parsed> parse_list(Json const& json, char const* key, Parse const& parse) {
    auto const& list = json.at(key);
    if (!list.is_array() || list.size() > most_entries)
        throw UsageError(text(key, " (must be a list of at most ", most_entries, ")"));
    std::vector<Parsed> parsed;
    for (auto const& each : list) parsed.push_back(parse(each));
    return parsed;
}

// Translates what nlohmann throws.
template <class Parse>
auto parsed(std::string_view bytes, char const* what, Parse const& parse) {
    try {
        return parse(parse_flat_json(bytes));
    } catch (Json::exception const& problem) {
        throw UsageError(text("not a valid ", what, " (", problem.what(),
                              "). Is its sinew of the same version?"));
    }
}

}  // namespace

wire::LinkOptions link_options() {
    return {.max_frame = largest_message,
            .least_peer_frame = largest_message,
            .heartbeat = 2s,
            .suspect_after = 15s,
            .dead_after = 30s};
}

std::string to_json(ClientRequest const& request) {
    Json json{{"verb", verb_names[static_cast<std::size_t>(request.verb)]}};
    switch (request.verb) {
        case Verb::submit:
            json["job"] = to_json(request.job);
            break;
        case Verb::follow:
            json["id"] = request.id;
            json["out"] = request.out;
            json["err"] = request.err;
            json["tail"] = request.tail ? Json(*request.tail) : Json();
            json["until_end"] = request.until_end;
            json["owner"] = request.owner;
            break;
        case Verb::stop:
            json["id"] = request.id;
            json["now"] = request.now;
            json["grace_ms"] = request.grace ? Json(request.grace->count()) : Json();
            break;
        case Verb::announce:
            json["service"] = json_of(request.service);
            break;
        case Verb::status:
        case Verb::list:
        case Verb::services:
            break;
    }
    return one_line(json);
}

ClientRequest parse_client_request(std::string_view bytes) {
    return parsed(bytes, "request", [](Json const& json) {
        ClientRequest request;
        request.verb = static_cast<Verb>(
            index_of(verb_names, text_field(json, "verb", longest_text), "the request"));
        switch (request.verb) {
            case Verb::submit:
                request.job = parse_job_request(json.at("job").get_ref<std::string const&>());
                break;
            case Verb::follow:
                request.id = number_field(json, "id", 1, most);
                request.out = static_cast<std::uint64_t>(number_field(json, "out", 0, INT64_MAX));
                request.err = static_cast<std::uint64_t>(number_field(json, "err", 0, INT64_MAX));
                if (!json.at("tail").is_null())
                    request.tail = static_cast<int>(number_field(json, "tail", 0, most_count));
                request.until_end = json.at("until_end").get<bool>();
                request.owner = json.at("owner").get<bool>();
                break;
            case Verb::stop:
                request.id = number_field(json, "id", 1, most);
                request.now = json.at("now").get<bool>();
                if (!json.at("grace_ms").is_null())
                    request.grace =
                        std::chrono::milliseconds(number_field(json, "grace_ms", 0, most_count));
                break;
            case Verb::announce:
                request.service = parse_service(json.at("service"));
                break;
            case Verb::status:
            case Verb::list:
            case Verb::services:
                break;
        }
        return request;
    });
}

std::string to_json(ServerAnswer const& answer) {
    Json json{{"kind", kind_names[static_cast<std::size_t>(answer.kind)]}};
    switch (answer.kind) {
        case Kind::accepted:
        case Kind::stopping:
            json["id"] = answer.id;
            break;
        case Kind::error:
            json["text"] = answer.text;
            json["usage"] = answer.usage;
            break;
        case Kind::status:
            json["name"] = answer.server.name;
            json["all"] = json_of(answer.server.all);
            json["available"] = json_of(answer.server.available);
            json["waiting"] = answer.server.waiting;
            json["active"] = answer.server.active;
            break;
        case Kind::jobs:
        case Kind::state:
        case Kind::end:
            json["jobs"] = Json::array();
            for (auto const& job : answer.jobs) json["jobs"].push_back(json_of(job));
            json["last"] = answer.last;
            json["ahead"] = answer.ahead;
            break;
        case Kind::services:
            json["services"] = Json::array();
            for (auto const& each : answer.services) json["services"].push_back(json_of(each));
            break;
    }
    return one_line(json);
}

ServerAnswer parse_server_answer(std::string_view bytes) {
    return parsed(bytes, "answer", [](Json const& json) {
        ServerAnswer answer;
        answer.kind = static_cast<Kind>(
            index_of(kind_names, text_field(json, "kind", longest_text), "the answer"));
        switch (answer.kind) {
            case Kind::accepted:
            case Kind::stopping:
                answer.id = number_field(json, "id", 1, most);
                break;
            case Kind::error:
                answer.text = text_field(json, "text", longest_text);
                answer.usage = json.at("usage").get<bool>();
                break;
            case Kind::status:
                answer.server.name = text_field(json, "name", longest_text);
                answer.server.all = parse_resources(json.at("all"));
                answer.server.available = parse_resources(json.at("available"));
                answer.server.waiting =
                    static_cast<int>(number_field(json, "waiting", 0, most_count));
                answer.server.active =
                    static_cast<int>(number_field(json, "active", 0, most_count));
                break;
            case Kind::jobs:
            case Kind::state:
            case Kind::end:
                answer.jobs = parse_list<JobEntry>(json, "jobs", parse_job);
                if (answer.kind != Kind::jobs && answer.jobs.size() != 1)
                    throw UsageError("an answer about one job that has none, or several");
                answer.last = json.at("last").get<bool>();
                answer.ahead = static_cast<int>(number_field(json, "ahead", 0, most_count));
                break;
            case Kind::services:
                answer.services = parse_list<ServiceEntry>(json, "services", parse_service);
                break;
        }
        return answer;
    });
}

}  // namespace sinew::launch::service
