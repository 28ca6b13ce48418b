// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/core_state.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int batches = 3, trips_per_batch = 50;
constexpr std::uint64_t steps = 2 * batches * trips_per_batch;
constexpr auto patience = std::chrono::milliseconds(4);

CoreState majority(std::vector<CoreState> const& rounds, std::size_t begin, std::size_t end) {
    std::array<int, 5> votes{};
    for (std::size_t i = begin; i < end; ++i) ++votes[static_cast<std::size_t>(rounds[i])];
    return static_cast<CoreState>(std::max_element(votes.begin(), votes.end()) - votes.begin());
}

}  // namespace

std::string_view name(CoreState state) {
    constexpr std::array<std::string_view, 5> names{"near", "far", "oversubscribed", "unknown",
                                                    "mixed"};
    return names[static_cast<std::size_t>(state)];
}

CoreState classify(double round_trip_ns) {
    if (std::isinf(round_trip_ns)) return CoreState::unknown;
    return round_trip_ns < near_limit_ns ? CoreState::near : CoreState::far;
}

CoreState of_round(CoreState before, CoreState after) {
    return before == after ? before : CoreState::mixed;
}

CoreState of_rounds(std::vector<CoreState> const& rounds) {
    if (rounds.empty()) return CoreState::unknown;
    std::size_t const half = (rounds.size() + 1) / 2;
    CoreState const state = majority(rounds, 0, half);
    if (half < rounds.size() && majority(rounds, half, rounds.size()) != state)
        return CoreState::mixed;
    auto const count = static_cast<std::size_t>(std::count(rounds.begin(), rounds.end(), state));
    return 4 * count >= 3 * rounds.size() ? state : CoreState::mixed;
}

CoreProbe::CoreProbe(Communicator& comm, SharedPage const& page, std::size_t line,
                     bool oversubscribed)
    : rank_(comm.rank()) {
    if (oversubscribed) fixed_ = CoreState::oversubscribed;
    else if (page && comm.size() > 1 && comm.nodes().node_of[0] == comm.nodes().node_of[1])
        line_ = reinterpret_cast<Line*>(page.line(line));
}

CoreSample CoreProbe::sample() {
    if (line_ == nullptr || rank_ > 1) return {rank_ == 0 ? fixed_ : CoreState::unknown};
    CoreSample sample;
    if (rank_ == 0) {
        sample.round_trip_ns = ping();
        sample.state = classify(sample.round_trip_ns);
    } else {
        pong();
    }
    last_ += steps;
    return sample;
}

// Returns the best of three batches, so that interrupts do not count. If rank 1 does not answer (it
// has no core at the moment), rank 0 writes the last number, which ends rank 1's part too. Returns
// infinity if not even one batch was completed.
double CoreProbe::ping() {
    auto const deadline = Clock::now() + patience;
    double best = std::numeric_limits<double>::infinity();
    std::uint64_t number = last_;
    for (int batch = 0; batch < batches; ++batch) {
        auto const start = Clock::now();
        for (int trip = 0; trip < trips_per_batch; ++trip) {
            line_->value.store(++number, std::memory_order_release);
            ++number;
            for (int spins = 1; line_->value.load(std::memory_order_acquire) != number; ++spins) {
                if (spins % 4096 == 0 && Clock::now() > deadline) {
                    line_->value.store(last_ + steps, std::memory_order_release);
                    return best;
                }
            }
        }
        std::chrono::duration<double, std::nano> const elapsed = Clock::now() - start;
        best = std::min(best, elapsed.count() / trips_per_batch);
    }
    return best;
}

void CoreProbe::pong() {
    auto const deadline = Clock::now() + 2 * patience;
    std::uint64_t seen = last_;
    for (int spins = 1; seen < last_ + steps; ++spins) {
        std::uint64_t const number = line_->value.load(std::memory_order_acquire);
        if (number > seen && number % 2 == 1) {
            seen = number + 1;
            line_->value.store(seen, std::memory_order_release);
        } else if (number > seen) {
            return;  // rank 0 gave up
        } else if (spins % 4096 == 0 && Clock::now() > deadline) {
            return;
        }
    }
}

}  // namespace sinew::bench
