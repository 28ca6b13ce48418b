// SPDX-License-Identifier: Apache-2.0
// What a function needs that is compiled for the host and, by nvcc, also for GPUs.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#ifdef __CUDACC__
#define SINEW_HOST_DEVICE __host__ __device__
#define SINEW_UNROLL _Pragma("unroll")
#else
#define SINEW_HOST_DEVICE
#define SINEW_UNROLL
#endif

namespace sinew::sgd {

/// Threads that execute together, and threads of a block. A warp is what a lane function has lanes
/// of; the twins on the host execute one lane after the other.
inline constexpr unsigned warp_lanes = 32;
inline constexpr unsigned block_threads = 256;
inline constexpr unsigned block_warps = block_threads / warp_lanes;

/// Reads a value from memory that is aligned for it: on a GPU by one access of its size.
template <class T>
SINEW_HOST_DEVICE T load(void const* memory) {
#ifdef __CUDA_ARCH__
    return *static_cast<T const*>(memory);
#else
    T value;
    std::memcpy(&value, memory, sizeof value);
    return value;
#endif
}

/// Writes a value to memory that is aligned for it: on a GPU by one access, if it has 16 bytes and is aligned for them.
template <class T>
SINEW_HOST_DEVICE void store(void* memory, T const& value) {
#ifdef __CUDA_ARCH__
    // The compiler may take a structure apart, and write its members one by one.
    if constexpr (sizeof(T) == sizeof(uint4) && alignof(T) == sizeof(uint4)) {
        auto const word = std::bit_cast<uint4>(value);
        asm volatile(
            "st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(memory)),
            "r"(word.x), "r"(word.y), "r"(word.z), "r"(word.w)
            : "memory");
    } else {
        *static_cast<T*>(memory) = value;
    }
#else
    std::memcpy(memory, &value, sizeof value);
#endif
}

SINEW_HOST_DEVICE inline bool is_aligned(void const* memory, std::size_t bytes) {
    return (reinterpret_cast<std::uintptr_t>(memory) & (bytes - 1)) == 0;
}

/// The index of the lowest bit that is set. Requires: one is. (nvcc 13.0 compiles std::countr_zero to 32,
/// whatever the number is.)
SINEW_HOST_DEVICE inline std::uint32_t lowest_bit(std::uint32_t bits) {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint32_t>(__ffs(static_cast<int>(bits))) - 1;
#else
    return static_cast<std::uint32_t>(std::countr_zero(bits));
#endif
}

/// Which lane of which warp of a launch executes a function.
struct LanePosition {
    std::uint32_t warp;   ///< among all warps of the launch
    std::uint32_t warps;  ///< of the launch
    std::uint32_t lane;   ///< in the warp
};

#ifdef __CUDACC__
__device__ inline LanePosition this_lane() {
    return {blockIdx.x * block_warps + threadIdx.x / warp_lanes, gridDim.x * block_warps,
            threadIdx.x % warp_lanes};
}
#endif

}  // namespace sinew::sgd
