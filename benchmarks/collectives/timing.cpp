// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/timing.hpp"

#include <algorithm>
#include <chrono>

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double block_seconds = 1e-3;
constexpr int least_rounds = 3, most_calls = 1 << 20;
/// The share of the budget for warming up one contender.
constexpr double warmup_share = 0.05;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

Timing::Timing(Communicator& comm, CoreProbe& probe, Options const& options,
               std::function<void(int)> on_round)
    : comm_(comm), probe_(probe), options_(options), on_round_(std::move(on_round)) {}

double Timing::seconds_per_call(Call const& call, Block const& block, int calls) {
    comm_.barrier();
    if (block.variant == Variant::reused) {
        auto const start = Clock::now();
        for (int i = 0; i < calls; ++i) call();
        return since(start) / calls;
    }
    double seconds = 0;
    for (int i = 0; i < calls; ++i) {
        block.load.live();
        comm_.barrier();
        auto const start = Clock::now();
        call();
        seconds += since(start);
    }
    return seconds / calls;
}

double Timing::slowest(double seconds) { return comm_.allreduce_value(seconds, max); }

/// Returns the calls per block. The ranks agree, since all use the slowest rank's time.
int Timing::warm_up(Call const& call, Block const& block) {
    double const once = slowest(seconds_per_call(call, block, 1));
    double const affordable = options_.budget * warmup_share / std::max(once, 1e-9);
    auto const calls = static_cast<int>(std::min<double>(options_.warmup, affordable));
    for (int i = 0; i < calls; ++i) call();
    if (once > 10 * block_seconds) return 1;
    for (int n = 1;;) {
        double const seconds = n * slowest(seconds_per_call(call, block, n));
        if (seconds >= block_seconds || n >= most_calls) return n;
        double const growth = std::clamp(1.2 * block_seconds / std::max(seconds, 1e-9), 2.0, 100.0);
        n = std::min(static_cast<int>(n * growth), most_calls);
    }
}

Measured Timing::measure(std::vector<Call> const& calls, Workload const& load, Variant variant) {
    Block const block{load, variant};
    std::vector<int> block_calls;
    for (Call const& call : calls) block_calls.push_back(warm_up(call, block));

    Measured measured;
    measured.us.resize(calls.size());
    auto const start = Clock::now();
    comm_.barrier();
    CoreState before = probe_.sample();
    for (int round = 0; round < options_.rounds; ++round) {
        on_round_(round);
        std::vector<double> seconds(calls.size() + 1);
        for (std::size_t turn = 0; turn < calls.size(); ++turn) {
            std::size_t const i = round % 2 == 0 ? turn : calls.size() - 1 - turn;
            seconds_per_call(calls[i], block, block_calls[i]);  // settles the ranks; not counted
            seconds[i] = seconds_per_call(calls[i], block, block_calls[i]);
        }
        seconds.back() = since(start);
        comm_.allreduce(seconds, max);  // the slowest rank's times: all stop together
        for (std::size_t i = 0; i < calls.size(); ++i) measured.us[i].push_back(seconds[i] * 1e6);
        CoreState const after = probe_.sample();
        measured.states.push_back(of_round(before, after));
        before = after;
        double const with_next = seconds.back() * (round + 2) / (round + 1);
        if (round + 1 >= least_rounds && with_next > options_.budget) break;
    }
    return measured;
}

}  // namespace sinew::bench
