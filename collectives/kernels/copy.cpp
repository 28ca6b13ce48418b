// SPDX-License-Identifier: Apache-2.0
// Copies with non-temporal stores.
#include "collectives/kernels/copy.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "collectives/kernels/demote.hpp"
#include "collectives/kernels/dispatch.hpp"
#include "collectives/kernels/target_choice.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "collectives/kernels/copy.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace sinew::collectives::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void stream_lines(std::uint8_t* to, std::uint8_t const* from, std::size_t bytes) {
    hn::ScalableTag<std::uint8_t> const d;
    constexpr std::size_t line = 64;
    constexpr std::size_t step = hn::MaxLanes(d);
    if (step < 16 || bytes < 4 * line) {
        std::memcpy(to, from, bytes);
        return;
    }
    // Only whole lines may bypass the cache: a partial one would be read from memory first.
    std::size_t const head = (0 - reinterpret_cast<std::uintptr_t>(to)) % line;
    std::memcpy(to, from, head);
    std::size_t i = head;
    for (; i + line <= bytes; i += line)
        for (std::size_t k = 0; k < line; k += step)
            hn::Stream(hn::LoadU(d, from + i + k), d, to + i + k);
    std::memcpy(to + i, from + i, bytes - i);
}

void copy_lines_demoting(std::uint8_t* to, std::uint8_t const* from, std::size_t bytes) {
    hn::ScalableTag<std::uint8_t> const d;
    constexpr std::size_t line = 64;
    constexpr std::size_t step = hn::MaxLanes(d);
    std::size_t i = 0;
    if (step >= 16)
        for (; i + line <= bytes; i += line) {
            for (std::size_t k = 0; k < line; k += step)
                hn::StoreU(hn::LoadU(d, from + i + k), d, to + i + k);
            demote(to + i);
        }
    std::memcpy(to + i, from + i, bytes - i);
}

}  // namespace sinew::collectives::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sinew::collectives::kernels {

void stream(void* to, void const* from, std::size_t bytes) {
    SINEW_DISPATCH(stream_lines)
    (static_cast<std::uint8_t*>(to), static_cast<std::uint8_t const*>(from), bytes);
}

void fence_streams() { hwy::FlushStream(); }

void copy_bypassing(void* to, void const* from, std::size_t bytes) {
    stream(to, from, bytes);
    fence_streams();
}

void copy_demoting(void* to, void const* from, std::size_t bytes) {
    SINEW_DISPATCH(copy_lines_demoting)
    (static_cast<std::uint8_t*>(to), static_cast<std::uint8_t const*>(from), bytes);
}

}  // namespace sinew::collectives::kernels
#endif
