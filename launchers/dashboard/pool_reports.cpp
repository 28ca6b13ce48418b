// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/pool_reports.hpp"

#include <algorithm>
#include <sinew/error.hpp>

#include "launchers/dashboard/pool_report.hpp"
#include "src/base/text.hpp"

namespace sinew::launch::dashboard {
namespace {

std::string tasks_of(Loss const& loss) {
    if (loss.tasks.empty()) return " It had begun no task.";
    std::string words = " With it:";
    for (auto const& task : loss.tasks)
        words += text(&task == &loss.tasks.front() ? " " : ", ", task.function, " #", task.index,
                      task.failed ? " (failed)" : " (executed again)");
    if (loss.more > 0) words += text(" and ", loss.more, " more");
    return words + ".";
}

}  // namespace

void PoolReports::take(std::string const& node, pid_t pid, std::string_view line, Time now) {
    try {
        auto pool = parse_pool_report(line);
        pool.node = node;
        pool.pid = pid;
        note_losses(pool, now);
        state_.set(std::move(pool), now);
    } catch (UsageError const& problem) {
        state_.add_event(Level::warning,
                         text("Process ", pid, " on ", node, " has sent ", problem.what()), now);
    }
}

// Each death becomes one event, also if reports that told of it were left out.
void PoolReports::note_losses(Pool const& pool, Time now) {
    auto const known = deaths_.try_emplace(id_of(pool)).first;
    auto const fresh = pool.deaths > known->second ? pool.deaths - known->second : 0;
    known->second = pool.deaths;
    if (pool.ended) deaths_.erase(known);
    auto const shown = std::min<std::uint64_t>(fresh, pool.losses.size());
    for (std::size_t i = pool.losses.size() - shown; i < pool.losses.size(); ++i) {
        auto const& loss = pool.losses[i];
        state_.add_event(
            Level::warning,
            text("Pool ", pool.number, " has lost a worker: ", loss.why, ".", tasks_of(loss)), now);
    }
}

}  // namespace sinew::launch::dashboard
