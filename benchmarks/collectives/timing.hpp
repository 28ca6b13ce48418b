// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <sinew/communicator.hpp>
#include <vector>

#include "benchmarks/collectives/options.hpp"
#include "benchmarks/collectives/results/row.hpp"
#include "benchmarks/collectives/workload.hpp"
#include "benchmarks/support/machine/core_state.hpp"

namespace sinew::bench {

/// The results of the rounds. The times are equal on all ranks, all else is rank 0's.
struct Measured {
    /// By contender, by round: one call, on the slowest rank. Those that are much slower than the
    /// fastest have the first rounds only.
    std::vector<std::vector<double>> us;
    std::vector<CoreState> states;  ///< by round
    std::vector<double> one_way_ns =
        {};                        ///< by round: one transfer of a cache line; inf: not known
    std::vector<Tail> tails = {};  ///< by contender, if asked for
};

/// Which contenders take 20 times as long as the fastest, by the median of their rounds so far; never
/// one of the first `ours`. All ranks decide alike, since they have the same times.
std::vector<bool> much_slower(std::vector<std::vector<double>> const& us, std::size_t ours);

/// Times contenders in alternation. Each round runs one block of calls of each contender, after
/// `sync`, in reverse order every other round, so that changes of the machine affect all equally.
/// A peer that is much_slower is timed in the first three rounds only, so that the time is spent on
/// those that matter; in the first one only if a call of it would use up a tenth of the time. A block
/// lasts about a millisecond, or one call. An equal, uncounted block precedes it, because the previous
/// contender may have left the ranks on one core (if its ranks sleep while they wait).
class Timing {
public:
    /// Calls `on_round(n)` before round n. `sync` is a barrier of all ranks that no contender
    /// implements.
    Timing(Communicator& comm, CoreProbe& probe, Options const& options, std::function<void()> sync,
           std::function<void(int)> on_round);

    /// Collective. Runs at most options.rounds rounds, at least three, until the budget is spent;
    /// then, for options.tail, as many rounds again in which each call is timed alone.
    /// The first `ours` contenders are measured in every round.
    Measured measure(std::vector<std::function<void()>> const& calls, std::size_t ours,
                     Workload const& load, Variant variant);

private:
    using Call = std::function<void()>;
    struct Block {
        Workload const& load;
        Variant variant;
    };

    /// What a contender's warm-up says of it. The ranks agree, since it is of the slowest rank's time.
    struct Pace {
        double seconds = 0;  ///< of its first call
        int calls = 1;       ///< in a block
    };

    void measure_tails(std::vector<Call> const& calls, Block const& block,
                       std::vector<Pace> const& paces, std::vector<bool> const& slow,
                       Measured& measured);
    double seconds_per_call(Call const& call, Block const& block, int calls);
    double slowest(double seconds);
    Pace warm_up(Call const& call, Block const& block);
    std::vector<bool> hopeless(std::vector<Pace> const& paces, std::size_t ours) const;

    Communicator& comm_;
    CoreProbe& probe_;
    Options const& options_;
    double budget_;  ///< seconds for one variant
    std::function<void()> sync_;
    std::function<void(int)> on_round_;
};

}  // namespace sinew::bench
