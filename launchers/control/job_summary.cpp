// SPDX-License-Identifier: Apache-2.0
#include "launchers/control/job_summary.hpp"

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "launchers/common/flat_json.hpp"
#include "launchers/common/timestamp.hpp"
#include "launchers/io/output_record.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t longest_text = std::size_t{64} << 10;

Json json_of(JobSummary const& job) {
    Json json{{"name", job.name},
              {"id", job.id},
              {"state", job.state},
              {"backend", job.backend},
              {"command", job.command},
              {"host", job.host},
              {"pid", job.pid},
              {"ranks", job.ranks},
              {"ranks_running", job.ranks_running},
              {"nodes", job.nodes},
              {"restarts", job.restarts},
              {"started", timestamp(job.started)},
              {"exit_code", job.exit_code ? Json(*job.exit_code) : Json()},
              {"cause", job.cause},
              {"per_rank", Json::array()}};
    if (job.service)
        json["service"] = {{"owner", job.service->owner},
                           {"gpus", job.service->gpus},
                           {"gpus_wanted", job.service->gpus_wanted},
                           {"priority", job.service->priority},
                           {"memory", job.service->memory}};
    for (auto const& rank : job.per_rank)
        json["per_rank"].push_back({{"rank", rank.rank},
                                    {"node", rank.node},
                                    {"host", rank.host},
                                    {"pid", rank.pid},
                                    {"state", rank.state}});
    return json;
}

// Arguments and names of files need not be UTF-8.
std::string dumped(Json const& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string take_text(nlohmann::json const& json, char const* key) {
    auto text = json.at(key).get<std::string>();
    if (text.size() > longest_text) text.resize(longest_text);
    return text;
}

int take_number(nlohmann::json const& json, char const* key, int least, int most) {
    auto const number = json.at(key).get<std::int64_t>();
    if (number < least || number > most)
        throw UsageError(text("a job's ", key, " of ", number, " (must be ", least, " to ", most,
                              "). Is its sinew of the same version?"));
    return static_cast<int>(number);
}

}  // namespace

std::string to_json(JobSummary const& job) { return dumped(json_of(job)); }

std::string to_json(std::vector<JobSummary> const& jobs) {
    Json list = Json::array();
    for (auto const& job : jobs) list.push_back(json_of(job));
    return dumped(list);
}

JobSummary parse_job_summary(std::string_view bytes) {
    constexpr int any = 0x7fffffff;
    try {
        auto const json = parse_flat_json(bytes);
        JobSummary job;
        job.name = take_text(json, "name");
        job.id = take_text(json, "id");
        job.state = take_text(json, "state");
        job.backend = take_text(json, "backend");
        job.command = take_text(json, "command");
        job.host = take_text(json, "host");
        job.cause = take_text(json, "cause");
        job.pid = take_number(json, "pid", 0, any);
        job.ranks = take_number(json, "ranks", 0, most_ranks_of_job);
        job.ranks_running = take_number(json, "ranks_running", 0, most_ranks_of_job);
        job.nodes = take_number(json, "nodes", 0, most_ranks_of_job);
        job.restarts = take_number(json, "restarts", 0, any);
        if (!json.at("exit_code").is_null()) job.exit_code = take_number(json, "exit_code", 0, 255);
        auto const started = parse_timestamp(take_text(json, "started"));
        if (!started) throw UsageError("a job's start that is no time");
        job.started = *started;
        auto const& ranks = json.at("per_rank");
        if (!ranks.is_array() || ranks.size() > most_ranks_of_job)
            throw UsageError("a job's per_rank that is no list of at most a million");
        for (auto const& each : ranks)
            job.per_rank.push_back({.rank = take_number(each, "rank", 0, most_ranks_of_job - 1),
                                    .node = take_text(each, "node"),
                                    .host = take_text(each, "host"),
                                    .pid = take_number(each, "pid", 0, any),
                                    .state = take_text(each, "state")});
        return job;
    } catch (nlohmann::json::exception const& problem) {
        throw UsageError(text("not a valid description of a job (", problem.what(),
                              "). Is its sinew of the same version?"));
    }
}

}  // namespace sinew::launch
