// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace sinew::bench {

struct FreeMemory {
    void operator()(std::byte* memory) const { std::free(memory); }
};
using TouchedMemory = std::unique_ptr<std::byte, FreeMemory>;

/// Memory full of f32 ones, on huge pages if it is long enough and the system has some; null if there is none. Not zeros: an AMD EPYC
/// (Zen 5) moves lines of zeros between caches and memory in two thirds of the time.
inline TouchedMemory touched_memory(std::size_t bytes) {
    constexpr std::size_t page = 4096, huge_page = std::size_t{2} << 20;
    std::size_t const alignment = bytes < huge_page ? page : huge_page;
    std::size_t const rounded = (bytes + alignment - 1) / alignment * alignment;
    TouchedMemory memory(static_cast<std::byte*>(std::aligned_alloc(alignment, rounded)));
    if (!memory) return memory;
    if (alignment == huge_page) ::madvise(memory.get(), rounded, MADV_HUGEPAGE);
    std::fill_n(reinterpret_cast<float*>(memory.get()), rounded / sizeof(float), 1.0F);
    return memory;
}

}  // namespace sinew::bench
