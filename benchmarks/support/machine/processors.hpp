// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <optional>
#include <sinew/communicator.hpp>
#include <vector>

namespace sinew::bench {

/// The processors of this machine for the ranks that share it. A machine is not a node: hosts of a
/// network lab and containers are separate nodes on one set of processors.
struct Processors {
    /// Whether some machine has more ranks than processors that they may use in total (a launcher
    /// may have bound each rank to a different one).
    bool oversubscribed = false;
    /// How many processors the ranks on this rank's machine may use in total; 0: not known.
    int on_machine = 0;
    /// A processor for this rank alone; none if oversubscribed, or if the ranks are bound already.
    std::optional<int> own = {};
};

/// Looks up the processors of all ranks. Collective.
Processors look_up_processors(Communicator& comm);

/// Orders processors: first one of each core, then those that share a core with these.
std::vector<int> cores_first(std::vector<int> const& processors);

/// Pins the calling thread, and no other, to a processor until destroyed. Without it, two ranks
/// that slept at the same time may stay on one core of several for many rounds.
class Pinned {
public:
    explicit Pinned(std::optional<int> processor);
    Pinned(Pinned const&) = delete;
    Pinned& operator=(Pinned const&) = delete;
    ~Pinned();

    /// Whether the thread is on the processor that was asked for.
    bool pinned() const { return before_.has_value(); }

private:
    std::optional<cpu_set_t> before_;
};

}  // namespace sinew::bench
