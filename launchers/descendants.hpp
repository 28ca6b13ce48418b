// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

namespace sinew::launch {

/// Kills all descendants of this process, and those that turn up meanwhile, until it has no child,
/// living or dead: all are reaped. It is to be a subreaper, or they escape. Gives up after some
/// seconds, when one cannot be killed (uninterruptible sleep), and returns how many are left.
std::size_t kill_descendants();

/// Reaps children that have ended, other than these: adopted ones, whose parents ended before them.
void reap_adopted(std::vector<pid_t> const& ours);

}  // namespace sinew::launch
