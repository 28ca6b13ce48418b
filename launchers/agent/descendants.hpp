// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace sinew::launch {

/// One use of a process id, which the kernel may reuse after the process has ended.
struct ProcessLife {
    pid_t pid = 0;
    std::uint64_t start = 0;  ///< start time, in clock ticks since boot
};

/// The process as /proc shows it at present; nullopt if there is none.
std::optional<ProcessLife> process_life(pid_t pid);
/// Sends SIGKILL to this very process; false if it has ended, even if its id is in use again.
bool kill_life(ProcessLife const& life);

/// Kills all descendants of this process, also those that appear meanwhile, and reaps them until no
/// child is left. Requires: this process is a subreaper, or orphans escape. Gives up after some
/// seconds if a process cannot be killed (uninterruptible sleep); returns how many are left.
std::size_t kill_descendants();

/// Kills all children but `ours`, which this process has adopted, with their descendants, and reaps
/// them. Returns when none is left, or after a second.
void kill_adopted(std::vector<pid_t> const& ours);

/// Reaps adopted children that have ended, whose own parents ended first; leaves `ours` alone.
void reap_adopted(std::vector<pid_t> const& ours);

}  // namespace sinew::launch
