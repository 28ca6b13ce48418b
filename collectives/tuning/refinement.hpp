// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "collectives/tuning/tuned_table.hpp"

namespace sinew::collectives {

/// Replaces the choices of a tuner by those of measured calls, for one communicator. The first calls of
/// each kind (collective, size, freedom of the order) try the few algorithms that the model expects to be
/// about equally fast, in turn, and the fastest is kept.
///
/// Only algorithms of one order compete where the order of a reduction matters, so the bits of results
/// do not depend on it. All ranks choose alike: which algorithm a call tries depends on the number of calls
/// before it, and the choice on times that all ranks have exchanged. Calls are made one at a time; any
/// thread may ask for choices.
class Refinement {
public:
    /// An algorithm that is expected to take more than this many times the least is not tried.
    static constexpr double tolerance = 1.6;
    static constexpr std::size_t most_candidates = 3;
    /// The model's choice is replaced by one that takes at most this fraction of its time.
    static constexpr double worthwhile = 0.95;

    /// `tuner` must outlive this. Choices of `known` are used; `measures`: others are measured.
    Refinement(Tuner const& tuner, bool measures, TunedTable known);

    /// What a call does.
    struct Trial {
        Algorithm const* algorithm;
        bool timed;        ///< call `record` with its time, ...
        double scale = 1;  ///< ... times this: sizes of a kind differ
    };
    Trial begin(Collective collective, Shape const& shape, bool order_matters);
    /// Records the scaled time of the trial that was begun last. Returns whether all trials of its kind have been
    /// made: then call `decide`.
    bool record(double seconds);
    /// The least time of this rank for each candidate of the trial that was begun last. The ranks exchange
    /// them, and replace each by the greatest of all.
    std::vector<double> times() const;
    /// Chooses by times that are equal on all ranks.
    void decide(std::vector<double> const& slowest);

    /// The algorithm of a call; during trials the one that the tuner chooses.
    Algorithm const& choice(Collective collective, Shape const& shape, bool order_matters) const;
    /// Describes the choices made so far and those that are known, as text; empty if there are none.
    std::string explain(Collective collective) const;
    /// Called with each choice that was measured. Set it before the first call.
    std::function<void(Tuner::Kind const&, Algorithm const&)> keep;

private:
    struct Candidate {
        Algorithm const* algorithm;
        double expected;
        double seconds;  ///< least of this rank; after the decision the slowest rank's
    };
    struct Calls {
        std::vector<Candidate> candidates;  ///< the first is the tuner's choice
        int trials = 0, all_trials = 0;
        Algorithm const* chosen = nullptr;
        bool known = false;  ///< chosen by an earlier job
    };
    Calls calls_of(Collective collective, Shape const& shape, bool order_matters) const;

    Tuner const& tuner_;
    bool measures_;
    TunedTable known_;
    mutable std::mutex mutex_;
    std::map<Tuner::Kind, Calls> calls_;  // guarded by mutex_; its elements do not move
    std::map<Tuner::Kind, Calls>::iterator current_;
};

}  // namespace sinew::collectives
