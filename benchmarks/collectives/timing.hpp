// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <sinew/communicator.hpp>
#include <vector>

#include "benchmarks/collectives/options.hpp"
#include "benchmarks/collectives/workload.hpp"
#include "benchmarks/support/machine/core_state.hpp"

namespace sinew::bench {

/// The results of the rounds. The times are equal on all ranks, the states are rank 0's.
struct Measured {
    std::vector<std::vector<double>> us;  ///< by contender, by round: one call, on the slowest rank
    std::vector<CoreState> states;        ///< by round
};

/// Times contenders in alternation. Each round runs one block of calls of each contender, after a
/// barrier, in reverse order every other round, so that changes of the machine affect all equally.
/// A block lasts about a millisecond, or one call. An equal, uncounted block precedes it, because
/// the previous contender may have left the ranks on one core (if its ranks sleep while they wait).
class Timing {
public:
    /// Calls `on_round(n)` before round n.
    Timing(Communicator& comm, CoreProbe& probe, Options const& options,
           std::function<void(int)> on_round);

    /// Collective. Runs at most options.rounds rounds, at least three, until the budget is spent.
    Measured measure(std::vector<std::function<void()>> const& calls, Workload const& load,
                     Variant variant);

private:
    using Call = std::function<void()>;
    struct Block {
        Workload const& load;
        Variant variant;
    };

    double seconds_per_call(Call const& call, Block const& block, int calls);
    double slowest(double seconds);
    int warm_up(Call const& call, Block const& block);

    Communicator& comm_;
    CoreProbe& probe_;
    Options const& options_;
    std::function<void(int)> on_round_;
};

}  // namespace sinew::bench
