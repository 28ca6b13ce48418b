// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/mpi_waiter.hpp"

#include <algorithm>

#include <sinew/error.hpp>

#include "src/base/text.hpp"
#include "src/base/waiting/polling_pause.hpp"

namespace sinew::pmpi {

using namespace std::chrono_literals;

namespace {

constexpr int rounds_per_progress = 4;
constexpr int rounds_per_clock = 16;
constexpr auto look_interval = 5ms;
/// Yields before the rank sleeps until it is woken. Where each rank has a processor, sleeping saves
/// only electricity, and costs the answers that MPI would give to other ranks meanwhile.
constexpr int yields_if_crowded = 40, yields_if_alone = 4000;
constexpr auto first_sleep = 50us, longest_sleep = 500us;

}  // namespace

std::chrono::nanoseconds MpiWaiter::idle(int round, int peer) {
    bool const calls_mpi = !of_library_ && route_.job != nullptr;
    int const before_sleep = crowded() ? yields_if_crowded : yields_if_alone;
    bool const sleeps = round >= before_sleep, naps = !sleeps && !yield_between_polls();
    // Where ranks share processors MPI yields, too, and a rank naps because yields take long.
    bool const helps =
        (naps && !crowded()) || round % rounds_per_progress == rounds_per_progress - 1;
    if (calls_mpi && helps) route_.job->progress();
    if (sleeps || round % rounds_per_clock == rounds_per_clock - 1) look_around(Clock::now(), peer);
    if (naps) return node_memory::longest_nap;
    if (!sleeps) return {};
    return std::min<std::chrono::nanoseconds>(first_sleep * (1 + (round - before_sleep) / 8),
                                              longest_sleep);
}

void MpiWaiter::look_around(Clock::time_point now, int peer) {
    if (begin_ == Clock::time_point{}) {
        begin_ = now;
        next_look_ = now + look_interval;
        return;
    }
    if (now < next_look_) return;
    next_look_ = now + look_interval;
    look_for_ended();
    if (of_library_ || route_.job == nullptr) return;
    std::chrono::nanoseconds const limit{route_.job->settings().timeout};
    if (limit.count() > 0 && now - begin_ > limit)
        throw Timeout(text("stopped after ", std::chrono::duration<double>(now - begin_).count(),
                           " s, waiting for rank ", peer, " of the communicator (rank ",
                           route_.world_rank(peer),
                           " of MPI_COMM_WORLD). Is it alive? SINEW_TIMEOUT sets the deadline"));
}

void MpiWaiter::look_between_tests() {
    if (++tests_ % rounds_per_clock != 0) return;
    auto const now = Clock::now();
    if (now < next_look_) return;
    next_look_ = now + look_interval;
    look_for_ended();
}

/// A rank ends only after all have called MPI_Finalize, unless it fails. What it had written before
/// is seen between the first look that finds it and the second, which throws.
void MpiWaiter::look_for_ended() {
    if (route_.job == nullptr) return;
    for (int const local : route_.job->ended()) {
        auto const found = std::ranges::find(route_.local_ranks, local);
        if (found == route_.local_ranks.end()) continue;
        int const rank = static_cast<int>(found - route_.local_ranks.begin());
        if (lost_ == rank)
            throw PeerLost(text("rank ", rank, " of the communicator (rank ",
                                route_.world_rank(rank),
                                " of MPI_COMM_WORLD) has ended without MPI_Finalize"));
        lost_ = rank;
        return;
    }
}

}  // namespace sinew::pmpi
