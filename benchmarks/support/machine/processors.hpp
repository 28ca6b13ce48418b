// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <optional>
#include <sinew/communicator.hpp>
#include <vector>

namespace sinew::bench {

/// The processors of this machine against the ranks that share it. By machine, not by node: hosts of
/// a network lab and containers are nodes of their own on one set of processors.
struct Processors {
    /// On some machine there are more ranks than processors they may use, taken together (a launcher
    /// may have bound each rank to one of its own).
    bool oversubscribed = false;
    /// One for this rank alone; none when oversubscribed, or when the ranks are bound already.
    std::optional<int> own = {};
};

/// Collective.
Processors look_up_processors(Communicator& comm);

/// The given processors with one of each core first, then those that share a core with them.
std::vector<int> cores_first(std::vector<int> const& processors);

/// Keeps the calling thread, and no other, on a processor as long as it lives. Left alone, two ranks
/// that slept at the same time may stay on one core of several for many rounds.
class Pinned {
public:
    explicit Pinned(std::optional<int> processor);
    Pinned(Pinned const&) = delete;
    Pinned& operator=(Pinned const&) = delete;
    ~Pinned();

private:
    std::optional<cpu_set_t> before_;
};

}  // namespace sinew::bench
