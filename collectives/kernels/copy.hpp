// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace sinew::collectives::kernels {

/// Copies past the cache (non-temporal stores), so that the stores need not fetch or claim lines
/// that another core holds, and orders them before all later stores. The memory must not overlap.
void copy_bypassing(void* to, void const* from, std::size_t bytes);

}  // namespace sinew::collectives::kernels
