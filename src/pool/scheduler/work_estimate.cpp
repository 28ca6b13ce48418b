// SPDX-License-Identifier: Apache-2.0
#include "src/pool/scheduler/work_estimate.hpp"

#include <algorithm>
#include <cmath>

namespace sinew::pool {

void WorkEstimate::add(Function& function, std::uint64_t tasks) {
    function.outstanding += tasks;
    if (function.task_ns < 0) unknown_ += tasks;
    else work_ns_ += function.task_ns * static_cast<double>(tasks);
}

void WorkEstimate::remove(Function& function, std::uint64_t tasks) {
    function.outstanding -= tasks;
    if (function.task_ns < 0) unknown_ -= tasks;
    else work_ns_ -= function.task_ns * static_cast<double>(tasks);
}

/// Updates a moving average. A time counts as four times the mean at most, so that one very long
/// task does not make the next batches tiny.
void WorkEstimate::learn(Function& function, Duration busy, std::uint32_t tasks) {
    auto const before = function.task_ns;
    auto const outstanding = static_cast<double>(function.outstanding);
    auto each = static_cast<double>(busy.count()) / tasks;
    if (before < 0) {
        function.task_ns = each;
        unknown_ -= function.outstanding;
        work_ns_ += outstanding * each;
        return;
    }
    constexpr double weight = 0.25, least_ns = 1;
    each = std::min(each, 4 * std::max(before, least_ns));
    function.task_ns += weight * (each - before);
    work_ns_ += outstanding * (function.task_ns - before);
}

/// A task of unknown duration counts as one worker: it may be long, and a worker too many costs
/// less than one too few.
double WorkEstimate::workers(Duration each) const {
    auto const per_worker = static_cast<double>(std::max<Duration::rep>(each.count(), 1));
    return std::ceil(work_ns_ / per_worker) + static_cast<double>(unknown_);
}

std::uint64_t WorkEstimate::outstanding() const {
    std::uint64_t sum = 0;
    for (auto const& [key, function] : functions_) sum += function.outstanding;
    return sum;
}

}  // namespace sinew::pool
