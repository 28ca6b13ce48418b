// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/report_line.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sinew::pool {
namespace {

using nlohmann::json;

constexpr std::size_t longest_line = std::size_t{32} << 10;
constexpr std::size_t longest_why = 400, longest_name = 160;

// A control character would take six bytes.
std::string printable(std::string words, std::size_t longest) {
    if (words.size() > longest) words.resize(longest);
    std::ranges::replace_if(
        words, [](char each) { return static_cast<unsigned char>(each) < 0x20; }, ' ');
    return words;
}

json of(WorkerLoss const& loss) {
    json tasks = json::array();
    for (auto const& task : loss.tasks)
        tasks.push_back({{"function", printable(task.function, longest_name)},
                         {"index", task.index},
                         {"failed", task.failed}});
    std::chrono::duration<double> const time = loss.time.time_since_epoch();
    return {{"time", time.count()},
            {"worker", printable(loss.worker, longest_name)},
            {"why", printable(loss.why, longest_why)},
            {"tasks", std::move(tasks)},
            {"more", loss.more}};
}

}  // namespace

std::string report_line(PoolFigures const& figures) {
    auto const& counts = figures.counts;
    json object{{"pool", figures.number},
                {"submitted", counts.submitted},
                {"done", counts.done},
                {"failed", counts.failed},
                {"dropped", counts.dropped},
                {"retried", counts.retried},
                {"queued", counts.queued},
                {"held", counts.held},
                {"deaths", counts.deaths},
                {"started", counts.started},
                {"workers", counts.workers},
                {"ready", counts.ready},
                {"busy_seconds", std::chrono::duration<double>(figures.busy).count()},
                {"ended", figures.ended}};
    if (figures.rank) object["rank"] = *figures.rank;
    json losses = json::array();
    for (auto const& loss : figures.losses) losses.push_back(of(loss));
    for (;;) {
        object["losses"] = losses;
        auto line = object.dump(-1, ' ', false, json::error_handler_t::replace);
        if (line.size() < longest_line || losses.empty()) return line + '\n';
        losses.erase(losses.begin());  // the oldest
    }
}

}  // namespace sinew::pool
