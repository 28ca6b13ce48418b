// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <vector>

namespace sinew::launch {

/// The children of this process and theirs, as /proc has them now; those of `except` left out.
std::vector<pid_t> descendants(pid_t except = 0);

/// Kills all descendants, and those that turn up meanwhile, until there are none; reaps what are our
/// children. Ours is to be the nearest subreaper, or they escape. Gives up after some seconds, when
/// one cannot be killed (uninterruptible sleep), and returns how many are left.
std::size_t kill_descendants(pid_t except = 0);

/// Reaps children that have ended, other than these: adopted ones, whose parents ended before them.
void reap_adopted(std::vector<pid_t> const& ours);

}  // namespace sinew::launch
