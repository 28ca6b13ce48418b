// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sinew {

/// How many processes the kernel has killed in this process's cgroup (version 2) for want of memory,
/// so far; 0 where that cannot be told.
std::uint64_t oom_kills();

}  // namespace sinew
