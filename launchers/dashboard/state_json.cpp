// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/state_json.hpp"

#include <nlohmann/json.hpp>

namespace sinew::launch::dashboard {
namespace {

using nlohmann::json;

double seconds(Time time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

template <class T>
json or_null(std::optional<T> const& value) {
    return value ? json(*value) : json(nullptr);
}

json or_null(std::optional<Time> const& time) {
    return time ? json(seconds(*time)) : json(nullptr);
}

json of(Job const& job) {
    return {{"kind", job.is_server ? "server" : "job"},
            {"name", job.name},
            {"id", job.id},
            {"backend", job.backend},
            {"command", job.command},
            {"state", job.state},
            {"host", job.host},
            {"restarts", job.restarts},
            {"started", seconds(job.started)},
            {"cause", job.cause},
            {"exit_code", or_null(job.exit_code)}};
}

json of(Node const& node) {
    return {{"name", node.name}, {"host", node.host}, {"lost", node.lost}};
}

json of(Rank const& rank) {
    json one{{"rank", rank.rank}, {"node", rank.node}, {"state", name_of(rank.state)}};
    if (rank.pid != 0) one["pid"] = rank.pid;
    if (!rank.detail.empty()) one["detail"] = rank.detail;
    if (auto const& call = rank.collective)
        one["collective"] = {{"operation", call->operation},
                             {"communicator", call->communicator},
                             {"number", call->number},
                             {"inside", call->inside}};
    return one;
}

json of(Loss const& loss) {
    json tasks = json::array();
    for (auto const& task : loss.tasks)
        tasks.push_back(
            {{"function", task.function}, {"index", task.index}, {"failed", task.failed}});
    return {{"time", seconds(loss.time)},
            {"worker", loss.worker},
            {"why", loss.why},
            {"tasks", std::move(tasks)},
            {"more", loss.more}};
}

json of(std::pair<std::string const, Pool> const& entry) {
    auto const& pool = entry.second;
    json losses = json::array();
    for (auto const& loss : pool.losses) losses.push_back(of(loss));
    return {{"id", entry.first},
            {"number", pool.number},
            {"rank", or_null(pool.rank)},
            {"node", pool.node},
            {"pid", pool.pid},
            {"submitted", pool.submitted},
            {"done", pool.done},
            {"failed", pool.failed},
            {"dropped", pool.dropped},
            {"retried", pool.retried},
            {"queued", pool.queued},
            {"held", pool.held},
            {"workers", pool.workers},
            {"ready", pool.ready},
            {"deaths", pool.deaths},
            {"started", pool.started},
            {"busy_seconds", pool.busy_seconds},
            {"rate", pool.rate},
            {"ended", pool.ended},
            {"losses", std::move(losses)}};
}

json of(QueuedJob const& job) {
    return {{"id", job.id},
            {"name", job.name},
            {"owner", job.owner},
            {"state", job.state},
            {"priority", job.priority},
            {"gpus", job.gpus},
            {"processors", job.processors},
            {"gpus_held", job.gpus_held},
            {"submitted", seconds(job.submitted)},
            {"started", or_null(job.started)},
            {"ended", or_null(job.ended)},
            {"exit_code", or_null(job.exit_code)},
            {"cause", job.cause}};
}

json of(Gpu const& gpu) {
    return {{"host", gpu.host},
            {"index", gpu.index},
            {"name", gpu.name},
            {"holder", gpu.holder},
            {"memory_used", gpu.memory_used},
            {"memory_total", gpu.memory_total},
            {"utilization", or_null(gpu.utilization)}};
}

json of(Lease const& lease) {
    return {{"holder", lease.holder},
            {"host", lease.host},
            {"resources", lease.resources},
            {"until", or_null(lease.until)}};
}

json of(Event const& event) {
    return {{"number", event.number},
            {"time", seconds(event.time)},
            {"level", name_of(event.level)},
            {"text", event.text}};
}

json of(LogLine const& line) {
    json one{{"number", line.number},
             {"time", seconds(line.time)},
             {"rank", or_null(line.rank)},
             {"stream", line.stream == 2 ? "stderr" : "stdout"},
             {"text", line.text}};
    if (!line.job.empty()) one["job"] = line.job;
    return one;
}

template <class Entries>
json list(Entries const& entries) {
    json all = json::array();
    for (auto const& each : entries) all.push_back(of(each));
    return all;
}

}  // namespace

std::string changes(State const& state, Cursor& cursor, Time now) {
    auto const view = state.view();
    bool const all = cursor.version == 0;
    json out{{"schema", 1}, {"version", view.version}, {"now", seconds(now)}};
    auto const changed = [&](auto const& part) { return all || part.version > cursor.version; };
    if (changed(view.job)) out["job"] = of(*view.job.value);
    if (changed(view.nodes)) out["nodes"] = list(*view.nodes.value);
    if (changed(view.ranks)) out["ranks"] = list(*view.ranks.value);
    if (changed(view.pools)) out["pools"] = list(*view.pools.value);
    if (changed(view.queue)) {
        auto const& queue = *view.queue.value;
        out["queue"] = list(queue.jobs);
        out["queue_counts"] = json(queue.counts);
        out["ended"] = list(queue.ended);
    }
    if (changed(view.gpus)) out["gpus"] = list(*view.gpus.value);
    if (changed(view.leases)) out["leases"] = list(*view.leases.value);
    auto const events = state.events_from(cursor.next_event);
    auto const lines = state.lines_from(cursor.next_line);
    if (all || !events.empty()) out["events"] = list(events);
    if (all || !lines.empty()) out["log"] = list(lines);
    cursor.version = view.version;
    if (!events.empty()) cursor.next_event = events.back().number + 1;
    if (!lines.empty()) cursor.next_line = lines.back().number + 1;
    // What ranks print need not be UTF-8.
    return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string to_json(State const& state, Time now) {
    Cursor beginning;
    return changes(state, beginning, now);
}

}  // namespace sinew::launch::dashboard
