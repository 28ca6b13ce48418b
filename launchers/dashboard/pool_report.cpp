// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/pool_report.hpp"

#include <cmath>
#include <sinew/error.hpp>

#include "launchers/common/flat_json.hpp"
#include "launchers/io/output_record.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::dashboard {
namespace {

using nlohmann::json;

constexpr std::size_t most_losses = 64, most_tasks = 16, longest_value = 4096;

[[noreturn]] void refuse(std::string const& why) {
    throw UsageError(text("not a report of a pool (", why, ")"));
}

std::uint64_t count_of(json const& object, char const* key) {
    auto const& value = object.at(key);
    if (!value.is_number_unsigned()) refuse(text(key, " is no count"));
    return value.get<std::uint64_t>();
}

std::string words_of(json const& object, char const* key) {
    auto words = object.at(key).get<std::string>();
    if (words.size() > longest_value) words.resize(longest_value);
    return words;
}

double seconds_of(json const& object, char const* key) {
    auto const value = object.at(key).get<double>();
    if (!std::isfinite(value) || value < 0 || value > 1e15) refuse(text(key, " = ", value));
    return value;
}

std::uint32_t workers_of(json const& object, char const* key) {
    auto const value = count_of(object, key);
    if (value > (1U << 24)) refuse(text(key, " = ", value));
    return static_cast<std::uint32_t>(value);
}

Loss loss_of(json const& object) {
    Loss loss;
    loss.time = Time(std::chrono::duration_cast<Time::duration>(
        std::chrono::duration<double>(std::min(seconds_of(object, "time"), 4e9))));
    loss.worker = words_of(object, "worker");
    loss.why = words_of(object, "why");
    loss.more = count_of(object, "more");
    auto const& tasks = object.at("tasks");
    if (!tasks.is_array() || tasks.size() > most_tasks) refuse("tasks");
    for (auto const& each : tasks)
        loss.tasks.push_back({.function = words_of(each, "function"),
                              .index = count_of(each, "index"),
                              .failed = each.at("failed").get<bool>()});
    return loss;
}

Pool pool_of(json const& object) {
    Pool pool;
    pool.number = count_of(object, "pool");
    if (auto const rank = object.find("rank"); rank != object.end()) {
        auto const number = count_of(object, "rank");
        if (number >= static_cast<std::uint64_t>(most_ranks_of_job)) refuse(text("rank ", number));
        pool.rank = static_cast<int>(number);
    }
    pool.submitted = count_of(object, "submitted");
    pool.done = count_of(object, "done");
    pool.failed = count_of(object, "failed");
    pool.dropped = count_of(object, "dropped");
    pool.retried = count_of(object, "retried");
    pool.queued = count_of(object, "queued");
    pool.held = count_of(object, "held");
    pool.deaths = count_of(object, "deaths");
    pool.started = count_of(object, "started");
    pool.workers = workers_of(object, "workers");
    pool.ready = workers_of(object, "ready");
    pool.busy_seconds = seconds_of(object, "busy_seconds");
    pool.ended = object.at("ended").get<bool>();
    auto const& losses = object.at("losses");
    if (!losses.is_array() || losses.size() > most_losses) refuse("losses");
    for (auto const& each : losses) pool.losses.push_back(loss_of(each));
    return pool;
}

}  // namespace

Pool parse_pool_report(std::string_view line) {
    if (line.size() > longest_report) refuse(text(line.size(), " bytes"));
    try {
        auto const object = parse_flat_json(line);
        if (!object.is_object()) refuse("no object");
        return pool_of(object);
    } catch (json::exception const& problem) {
        refuse(problem.what());
    }
}

}  // namespace sinew::launch::dashboard
