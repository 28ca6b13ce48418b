// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace sinew {

/// The least quota of processor time, in processors, from this process's cgroup up to the root,
/// version 2 or 1 of cgroups. `root` is where the file systems are: "" but in tests.
std::optional<double> cgroup_quota(std::string const& root = "");

}  // namespace sinew
