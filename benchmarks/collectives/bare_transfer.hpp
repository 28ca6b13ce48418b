// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <sinew/communicator.hpp>
#include <vector>

#include "benchmarks/collectives/options.hpp"
#include "benchmarks/collectives/workload.hpp"
#include "benchmarks/support/machine/processor_pair.hpp"

namespace sinew::bench {

/// What a call cannot do without, with nothing around it, so that its time is the least that the machine allows. It is timed in
/// alternation with the calls, since a virtual machine's processors may move at any time, and a line then takes four times as long.
///
/// Of private buffers, ranks 0 and 1 pass each other the bytes that a rank must give and get; the ranks of one node must have a
/// processor each. Of buffers in memory that all share, nothing needs to pass: each rank copies as much as it must read and write, and
/// the two meet before and after, if all ranks have a processor. (Not of an allreduce, in which a rank reads what others have written.)
class BareTransfer {
public:
    using Call = std::function<void()>;

    /// Collective. `sync` is a barrier of all ranks.
    BareTransfer(Communicator& comm, bool oversubscribed, std::function<void()> sync);

    /// Collective. Tries the ways in which the workload's bytes can pass, and returns the one that is the fastest now; empty if
    /// nothing is known that such a call could not do without. The call overwrites the workload's buffers.
    std::optional<Call> fastest(Workload const& load, Variant variant, bool zero_copy);
    /// Collective. Whether each rank met the other one in time. After one did not, no call waits, and none is worth timing.
    bool works();

private:
    struct Passed {
        ProcessorPair::Message message = {};
        bool one_way = false;  ///< one rank gives, the other gets
        std::size_t own = 0;   ///< bytes of its own that each rank has in its result
    };

    Passed passed(Workload const& load);
    std::vector<Call> transfers(Workload const& load);
    std::vector<Call> copies(Workload const& load);
    double median_us(Call const& call, Workload const& load, Variant variant);

    Communicator& comm_;
    bool oversubscribed_;
    std::function<void()> sync_;
    ProcessorPair pair_;
};

}  // namespace sinew::bench
