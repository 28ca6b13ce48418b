// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

#include "launchers/service/resources.hpp"

namespace sinew::launch::service {

/// A job that waits, as far as the choice of the next one depends on it.
struct WaitingJob {
    Resources needs;
    std::optional<std::chrono::milliseconds> limit = {};  ///< until it has certainly ended
};

/// A job that has what it needs.
struct ActiveJob {
    Resources has;
    std::optional<std::chrono::system_clock::time_point> ends_by = {};
};

enum class Backfill : bool { no, yes };

/// The index of the waiting job that starts now; no value: none.
///
/// The first of the queue starts when all it needs is free. Until then the others wait, too. With
/// backfill, another one may start that fits into what is free, if it ends before the first can
/// start, or leaves what the first needs at that time. When the first can start is computed from the
/// limits of the active jobs: if it needs what a job without a limit has, nothing overtakes it.
std::optional<std::size_t> choose_next(std::vector<WaitingJob> const& queue,
                                       std::vector<ActiveJob> const& active, Resources const& all,
                                       Backfill backfill,
                                       std::chrono::system_clock::time_point now);

}  // namespace sinew::launch::service
