// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace sinew {

/// Returns the resident bytes of a process, 0 if unknown. `statm` is its open /proc/<pid>/statm.
std::uint64_t resident_bytes(int statm);

}  // namespace sinew
