// SPDX-License-Identifier: Apache-2.0
#include "launchers/service/server/schedule.hpp"

#include <algorithm>

namespace sinew::launch::service {
namespace {

using Time = std::chrono::system_clock::time_point;

/// When the first of the queue can start, and what is free then besides what it needs.
struct Reservation {
    Time at;
    Resources spare;
};

std::optional<Reservation> reserve(Resources const& needs, Resources available,
                                   std::vector<ActiveJob> active) {
    std::erase_if(active, [](ActiveJob const& job) { return !job.ends_by; });
    std::ranges::sort(active, {}, [](ActiveJob const& job) { return *job.ends_by; });
    for (auto const& job : active) {
        available += job.has;
        if (needs.fits(available)) return Reservation{*job.ends_by, available.without(needs)};
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::size_t> choose_next(std::vector<WaitingJob> const& queue,
                                       std::vector<ActiveJob> const& active, Resources const& all,
                                       Backfill backfill, Time now) {
    if (queue.empty()) return std::nullopt;
    Resources used;
    for (auto const& job : active) used += job.has;
    auto const available = all.without(used);
    if (queue.front().needs.fits(available)) return 0;
    if (backfill == Backfill::no) return std::nullopt;
    auto const reserved = reserve(queue.front().needs, available, active);
    if (!reserved) return std::nullopt;
    for (std::size_t i = 1; i < queue.size(); ++i) {
        auto const& job = queue[i];
        if (!job.needs.fits(available)) continue;
        bool const ends_before = job.limit && now + *job.limit <= reserved->at;
        if (ends_before || job.needs.fits(reserved->spare)) return i;
    }
    return std::nullopt;
}

}  // namespace sinew::launch::service
