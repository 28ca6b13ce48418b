// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "src/base/system/processor_groups.hpp"

namespace sinew {

/// Returns which processors of this machine are near each other, at least as far as it matters for a
/// process that may use `processors`. hwloc is asked where the kernel lists several NUMA nodes, or where
/// hwloc's environment describes another machine (HWLOC_SYNTHETIC, HWLOC_XMLFILE, HWLOC_FSROOT):
/// elsewhere a start does not wait for it, which takes milliseconds.
ProcessorGroups processor_groups(std::span<int const> processors);

}  // namespace sinew
