// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "src/pool/scheduler/scheduler.hpp"

namespace sinew::pool {

/// A worker that has ended unexpectedly, and the tasks that it may have been executing.
struct WorkerLoss {
    static constexpr std::size_t most_tasks = 8;
    struct Task {
        std::string function;
        std::uint64_t index = 0;
        bool failed = false;  ///< false: it is executed again
    };
    std::chrono::system_clock::time_point time{};
    std::string worker, why;
    std::vector<Task> tasks;
    std::uint64_t more = 0;  ///< tasks that are not in the list
};

/// What a dashboard shows of a pool.
struct PoolFigures {
    std::uint64_t number = 0;  ///< in this process, from 1
    std::optional<int> rank;   ///< of this process
    SchedulerStats counts;
    Duration busy{};
    bool ended = false;
    std::deque<WorkerLoss> losses;  ///< the last ones
};

/// One line of JSON of at most 32 KiB: what launchers/dashboard/pool_report.hpp parses.
std::string report_line(PoolFigures const& figures);

}  // namespace sinew::pool
