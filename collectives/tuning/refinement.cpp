// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/refinement.hpp"

#include <algorithm>
#include <iomanip>
#include <limits>
#include <sstream>
#include <utility>

namespace sinew::collectives {

namespace {

/// Rounds over all candidates. The first is not counted: it maps memory and makes connections. Slow calls
/// vary less, and are tried less often.
constexpr double slow_call = 20e-3;
constexpr int rounds_of_slow = 3, rounds_of_fast = 6;

}  // namespace

Refinement::Refinement(Tuner const& tuner, bool measures, TunedTable known)
    : tuner_(tuner), measures_(measures), known_(std::move(known)), current_(calls_.end()) {}

Refinement::Calls Refinement::calls_of(Collective collective, Shape const& shape,
                                       bool order_matters) const {
    Calls calls;
    // A table cannot bring in an algorithm that gives other bits, or that does not apply.
    auto const same_bits = tuner_.alternatives(collective, shape, order_matters);
    calls.chosen = same_bits.front().algorithm;
    if (auto const* const found = known_.find(Tuner::kind_of(collective, shape, order_matters)))
        for (auto const& [algorithm, expected] : same_bits)
            if (algorithm == found) {
                calls.chosen = found;
                calls.known = true;
                return calls;
            }
    if (!measures_ || shape.ranks == 1) return calls;
    for (auto const& [algorithm, expected] : same_bits)
        if (expected <= tolerance * same_bits.front().expected &&
            calls.candidates.size() < most_candidates)
            calls.candidates.push_back(
                {algorithm, expected, std::numeric_limits<double>::infinity()});
    if (calls.candidates.size() < 2) return calls;
    calls.chosen = nullptr;
    calls.all_trials = static_cast<int>(calls.candidates.size()) *
                       (same_bits.front().expected < slow_call ? rounds_of_fast : rounds_of_slow);
    return calls;
}

Refinement::Trial Refinement::begin(Collective collective, Shape const& shape, bool order_matters) {
    auto const kind = Tuner::kind_of(collective, shape, order_matters);
    std::lock_guard const lock(mutex_);
    current_ = calls_.find(kind);
    if (current_ == calls_.end())
        current_ = calls_.emplace(kind, calls_of(collective, shape, order_matters)).first;
    Calls const& calls = current_->second;
    if (calls.chosen != nullptr) return {calls.chosen, false};
    auto const next = static_cast<std::size_t>(calls.trials) % calls.candidates.size();
    auto const& [algorithm, expected, least] = calls.candidates[next];
    double const here = algorithm->seconds(shape, tuner_.model());
    return {algorithm, true, here > 0 ? expected / here : 1};
}

bool Refinement::record(double seconds) {
    std::lock_guard const lock(mutex_);
    Calls& calls = current_->second;
    auto const candidates = calls.candidates.size();
    auto const trial = static_cast<std::size_t>(calls.trials++);
    if (trial >= candidates) {
        double& least = calls.candidates[trial % candidates].seconds;
        least = std::min(least, seconds);
    }
    return calls.trials == calls.all_trials;
}

std::vector<double> Refinement::times() const {
    std::lock_guard const lock(mutex_);
    std::vector<double> times;
    for (Candidate const& candidate : current_->second.candidates)
        times.push_back(candidate.seconds);
    return times;
}

void Refinement::decide(std::vector<double> const& slowest) {
    Algorithm const* chosen = nullptr;
    {
        std::lock_guard const lock(mutex_);
        Calls& calls = current_->second;
        for (std::size_t i = 0; i < calls.candidates.size(); ++i)
            calls.candidates[i].seconds = slowest[i];
        Candidate const* best = &calls.candidates.front();
        double limit = worthwhile * best->seconds;
        for (Candidate const& candidate : calls.candidates) {
            if (&candidate == best || candidate.seconds > limit) continue;
            best = &candidate;
            limit = candidate.seconds;
        }
        chosen = calls.chosen = best->algorithm;
    }
    if (keep) keep(current_->first, *chosen);
}

Algorithm const& Refinement::choice(Collective collective, Shape const& shape,
                                    bool order_matters) const {
    std::lock_guard const lock(mutex_);
    auto const found = calls_.find(Tuner::kind_of(collective, shape, order_matters));
    Calls const calls =
        found != calls_.end() ? found->second : calls_of(collective, shape, order_matters);
    return calls.chosen != nullptr ? *calls.chosen : *calls.candidates.front().algorithm;
}

std::string Refinement::explain(Collective collective) const {
    std::ostringstream out;
    out << std::fixed << std::setprecision(1);
    std::lock_guard const lock(mutex_);
    for (auto const& [kind, calls] : calls_) {
        if (kind.collective != collective || (calls.candidates.empty() && !calls.known)) continue;
        auto const [from, to] = Tuner::sizes_of(kind.bucket);
        out << "  " << from << " to " << to << " bytes"
            << (kind.freedom > 0 ? ", in one order" : "") << ": ";
        if (calls.known) {
            out << calls.chosen->name << ", measured by an earlier job\n";
            continue;
        }
        if (calls.chosen == nullptr) {
            out << calls.trials << " of " << calls.all_trials << " trials made\n";
            continue;
        }
        out << calls.chosen->name << " is used;";
        for (Candidate const& candidate : calls.candidates)
            out << ' ' << candidate.algorithm->name << ' ' << candidate.seconds * 1e6
                << " us (expected " << candidate.expected * 1e6 << ')';
        out << '\n';
    }
    for (auto const& [kind, algorithm] : known_.rows()) {
        if (kind.collective != collective || calls_.contains(kind)) continue;
        auto const [from, to] = Tuner::sizes_of(kind.bucket);
        out << "  " << from << " to " << to << " bytes: " << algorithm->name
            << ", measured by an earlier job\n";
    }
    std::string const lines = std::move(out).str();
    return lines.empty() ? lines : "measured (SINEW_TUNE), the slowest rank's best time:\n" + lines;
}

}  // namespace sinew::collectives
