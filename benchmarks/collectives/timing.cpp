// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/timing.hpp"

#include <algorithm>
#include <chrono>

namespace sinew::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double block_seconds = 1e-3;
constexpr double slow_factor = 20;
constexpr int least_rounds = 3, most_calls = 1 << 20, most_tail_calls = 200;
/// The share of the budget for warming up one contender.
constexpr double warmup_share = 0.05;
/// The share of the budget that one call of a contender may take if it is much slower than others.
constexpr double hopeless_share = 0.1;

double since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

std::vector<bool> much_slower(std::vector<std::vector<double>> const& us, std::size_t ours) {
    std::vector<double> medians;
    for (auto const& times : us) medians.push_back(median(times));
    double const fastest = *std::min_element(medians.begin(), medians.end());
    std::vector<bool> slow(us.size());
    for (std::size_t i = ours; i < us.size(); ++i) slow[i] = medians[i] > slow_factor * fastest;
    return slow;
}

Timing::Timing(Communicator& comm, CoreProbe& probe, Options const& options,
               std::function<void()> sync, std::function<void(int)> on_round)
    : comm_(comm), probe_(probe), options_(options),
      budget_(options.budget / static_cast<double>(options.variants.size())),
      sync_(std::move(sync)), on_round_(std::move(on_round)) {}

double Timing::seconds_per_call(Call const& call, Block const& block, int calls) {
    sync_();
    if (block.variant == Variant::reused) {
        auto const start = Clock::now();
        for (int i = 0; i < calls; ++i) call();
        return since(start) / calls;
    }
    double seconds = 0;
    for (int i = 0; i < calls; ++i) {
        block.load.live();
        sync_();
        auto const start = Clock::now();
        call();
        seconds += since(start);
    }
    return seconds / calls;
}

double Timing::slowest(double seconds) { return comm_.allreduce_value(seconds, max); }

Timing::Pace Timing::warm_up(Call const& call, Block const& block) {
    double const once = slowest(seconds_per_call(call, block, 1));
    double const affordable = budget_ * warmup_share / std::max(once, 1e-9);
    auto const calls = static_cast<int>(std::min<double>(options_.warmup, affordable));
    for (int i = 0; i < calls; ++i) call();
    if (once > 10 * block_seconds) return {once, 1};
    for (int n = 1;;) {
        // The faster of two blocks: one alone may be long because a rank had to be woken for it, and all
        // blocks that are timed would be as short, and that wake-up most of their time.
        double const first = slowest(seconds_per_call(call, block, n));
        double const seconds = n * std::min(first, slowest(seconds_per_call(call, block, n)));
        if (seconds >= block_seconds || n >= most_calls) return {once, n};
        double const growth = std::clamp(1.2 * block_seconds / std::max(seconds, 1e-9), 2.0, 100.0);
        n = std::min(static_cast<int>(n * growth), most_calls);
    }
}

Measured Timing::measure(std::vector<Call> const& calls, std::size_t ours, Workload const& load,
                         Variant variant) {
    Block const block{load, variant};
    std::vector<Pace> paces;
    for (Call const& call : calls) paces.push_back(warm_up(call, block));
    std::vector<bool> slow = hopeless(paces, ours);

    Measured measured;
    measured.us.resize(calls.size());
    auto const start = Clock::now();
    sync_();
    CoreSample before = probe_.sample();
    for (int round = 0; round < options_.rounds; ++round) {
        on_round_(round);
        if (round == least_rounds) slow = much_slower(measured.us, ours);
        std::vector<double> seconds(calls.size() + 1);
        for (std::size_t turn = 0; turn < calls.size(); ++turn) {
            std::size_t const i = round % 2 == 0 ? turn : calls.size() - 1 - turn;
            if (slow[i] && round > 0) continue;
            seconds_per_call(calls[i], block, paces[i].calls);  // settles the ranks; not counted
            seconds[i] = seconds_per_call(calls[i], block, paces[i].calls);
        }
        seconds.back() = since(start);
        comm_.allreduce(seconds, max);  // the slowest rank's times: all stop together
        for (std::size_t i = 0; i < calls.size(); ++i)
            if (seconds[i] > 0) measured.us[i].push_back(seconds[i] * 1e6);
        sync_();  // all ranks are free to answer the probe
        CoreSample const after = probe_.sample();
        measured.states.push_back(of_round(before.state, after.state));
        measured.one_way_ns.push_back(after.round_trip_ns / 2);
        before = after;
        double const with_next = seconds.back() * (round + 2) / (round + 1);
        if (round + 1 >= least_rounds && with_next > budget_) break;
    }
    if (options_.tail) measure_tails(calls, block, paces, slow, measured);
    return measured;
}

std::vector<bool> Timing::hopeless(std::vector<Pace> const& paces, std::size_t ours) const {
    std::vector<std::vector<double>> seconds;
    for (Pace const& pace : paces) seconds.push_back({pace.seconds});
    std::vector<bool> slow = much_slower(seconds, ours);
    for (std::size_t i = 0; i < paces.size(); ++i)
        slow[i] = slow[i] && paces[i].seconds > hopeless_share * budget_;
    return slow;
}

// Every call begins after `sync`, and the slowest rank's time counts. The rounds of a contender that
// takes long have one call each.
void Timing::measure_tails(std::vector<Call> const& calls, Block const& block,
                           std::vector<Pace> const& paces, std::vector<bool> const& slow,
                           Measured& measured) {
    std::vector<std::vector<double>> us(calls.size());
    auto const start = Clock::now();
    for (int round = 0; round < options_.rounds; ++round) {
        on_round_(round);
        for (std::size_t turn = 0; turn < calls.size(); ++turn) {
            std::size_t const i = round % 2 == 0 ? turn : calls.size() - 1 - turn;
            if (slow[i] && round > 0) continue;
            seconds_per_call(calls[i], block, paces[i].calls);  // settles the ranks; not counted
            std::vector<double> seconds;
            for (int n = std::min(paces[i].calls, most_tail_calls); n > 0; --n) {
                if (block.variant == Variant::live) block.load.live();
                sync_();
                auto const begin = Clock::now();
                calls[i]();
                seconds.push_back(since(begin));
            }
            comm_.allreduce(seconds, max);
            for (double const each : seconds) us[i].push_back(each * 1e6);
        }
        double const with_next = slowest(since(start)) * (round + 2) / (round + 1);
        if (round + 1 >= least_rounds && with_next > budget_) break;
    }
    for (auto const& times : us)
        measured.tails.push_back(
            {quantile(times, 0.5), quantile(times, 0.99), static_cast<int>(times.size())});
}

}  // namespace sinew::bench
