// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace sinew::launch {

/// One life of a process number: the kernel may give the number to another when it has ended.
struct ProcessLife {
    pid_t pid = 0;
    std::uint64_t start = 0;  ///< when it began, in ticks since boot
};

/// As /proc shows it now; nothing when there is none.
std::optional<ProcessLife> process_life(pid_t pid);
/// Sends SIGKILL to this very process; false when it has ended, whoever has its number since.
bool kill_life(ProcessLife const& life);

/// Kills all descendants of this process, and those that turn up meanwhile, until it has no child,
/// living or dead: all are reaped. It is to be a subreaper, or they escape. Gives up after some
/// seconds, when one cannot be killed (uninterruptible sleep), and returns how many are left.
std::size_t kill_descendants();

/// Reaps children that have ended, other than these: adopted ones, whose parents ended before them.
void reap_adopted(std::vector<pid_t> const& ours);

}  // namespace sinew::launch
