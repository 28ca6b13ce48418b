// SPDX-License-Identifier: Apache-2.0
// Reductions whose results are stored past the cache.
#include "collectives/kernels/past_cache.hpp"

#include <cstdint>
#include <cstring>

#include "collectives/kernels/dispatch.hpp"
#include "collectives/kernels/target_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/past_cache.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A store that bypasses the cache leaves the processor's queue of stores late, and all later ones wait behind it. When the queue is full,
// nothing more begins, not even the loads of the next tile. So there are few other stores here: as a rule only the kernel is called for a tile.
void combine_tiles(ReductionPastCache const& what, std::size_t offset, std::size_t bytes) {
    constexpr std::size_t line = 64;
    hn::ScalableTag<std::uint8_t> const d;
    constexpr std::size_t step = hn::MaxLanes(d);
    alignas(64) std::uint8_t tile[past_cache_tile];
    void const* in[max_fused_inputs];
    std::size_t const element = what.type.size(), whole = past_cache_tile / element;
    for (std::size_t const end = offset + bytes; offset < end;) {
        std::size_t length = past_cache_tile, count = whole;
        if (end - offset < length) {
            length = end - offset;
            count = length / element;
        }
        for (std::size_t i = 0; i < what.in.size(); ++i) in[i] = what.in[i] + offset;
        what.kernel(tile, in, static_cast<int>(what.in.size()), count);
        if (what.completion.exists()) what.completion.apply(tile, count, what.type);
        for (std::byte* const result : what.results) {
            auto* const to = reinterpret_cast<std::uint8_t*>(result) + offset;
            if constexpr (step < 16) {
                std::memcpy(to, tile, length);
            } else {
                for (std::size_t i = 0; i < length; i += line)
                    for (std::size_t k = 0; k < line; k += step)
                        hn::Stream(hn::Load(d, tile + i + k), d, to + i + k);
            }
        }
        offset += length;
    }
}

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew::collectives::kernels {

void combine_past_cache(ReductionPastCache const& what, std::size_t offset, std::size_t bytes) {
    SINEW_DISPATCH(combine_tiles)(what, offset, bytes);
}

}  // namespace sinew::collectives::kernels
#endif
