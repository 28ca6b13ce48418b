// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "collectives/reducer.hpp"

namespace sinew::collectives::kernels {

/// Results that are stored past the cache are combined in tiles that are much shorter than the first-level cache: they are read
/// again at once, and must not displace inputs that the processor has fetched ahead.
inline constexpr std::size_t past_cache_tile = 1024;

/// A reduction by one kernel whose completed results go to several places.
struct ReductionPastCache {
    Kernel kernel;
    Completion completion;
    DataType type;
    std::span<std::byte const* const> in;  ///< at most max_fused_inputs
    std::span<std::byte* const> results;
};

/// Combines `bytes` from `offset` on, and stores them past the cache: others may read them when this thread has called `fence_streams`.
/// Requires: all results are aligned to 64 bytes at the offset, and `bytes` is a multiple of 64 and of the element.
void combine_past_cache(ReductionPastCache const& what, std::size_t offset, std::size_t bytes);

}  // namespace sinew::collectives::kernels
