// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sinew {

/// Bytes of memory that a process has; `statm` is its open /proc/<pid>/statm. 0: not known.
std::uint64_t resident_bytes(int statm);

}  // namespace sinew
