// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace sinew {

/// Returns how many processes the kernel's OOM killer has killed in this process's cgroup (version
/// 1 or 2) so far; 0 if unknown. `root` is the prefix of all paths; only tests set it.
std::uint64_t oom_kills(std::string const& root = "");
/// Returns the same for the cgroup at `folder`.
std::uint64_t oom_kills_in(std::string const& folder);

}  // namespace sinew
