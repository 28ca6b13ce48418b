// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace sinew {

/// How many processes the kernel has killed in this process's cgroup, version 1 or 2, for want of
/// memory, so far; 0 where that cannot be told. `root` is where the file systems are: "" but in tests.
std::uint64_t oom_kills(std::string const& root = "");
/// In the cgroup that is this folder.
std::uint64_t oom_kills_in(std::string const& folder);

}  // namespace sinew
