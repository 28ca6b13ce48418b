// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

namespace sinew {

/// Processors that are near each other. Lists rise, and are ordered by their first processors.
struct ProcessorGroups {
    std::vector<std::vector<int>> numa;  ///< those of each NUMA node that has processors
    std::vector<std::vector<int>> l3;    ///< those that share each third-level cache; may be empty
};

/// Returns what the kernel lists in /sys: all NUMA nodes, and the third-level caches of `processors`.
/// `root` is the prefix of all paths; only tests set it.
ProcessorGroups processor_groups_of_kernel(std::span<int const> processors,
                                           std::string const& root = "");

/// Parses "0-3,8"; what is not such a list ends it.
std::vector<int> parse_cpu_list(std::string const& list);

}  // namespace sinew
