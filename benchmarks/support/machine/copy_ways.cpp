// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/machine/copy_ways.hpp"

#include <array>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sinew::bench {

namespace {

void plain(std::byte* to, std::byte const* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}

#if defined(__SSE2__)
// The lengths are multiples of 64 and the memory is aligned.
void nontemporal(std::byte* to, std::byte const* from, std::size_t bytes) {
    auto* const out = reinterpret_cast<__m128i*>(to);
    auto const* const in = reinterpret_cast<__m128i const*>(from);
    for (std::size_t i = 0; i < bytes / sizeof(__m128i); i += 4)
        for (std::size_t j = 0; j < 4; ++j)
            _mm_stream_si128(out + i + j, _mm_load_si128(in + i + j));
    _mm_sfence();
}

void movsb(std::byte* to, std::byte const* from, std::size_t bytes) {
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

constexpr std::array ways{CopyWay{"memcpy", plain}, CopyWay{"movsb", movsb},
                          CopyWay{"nontemporal", nontemporal}};
#else
constexpr std::array ways{CopyWay{"memcpy", plain}};
#endif

}  // namespace

std::span<CopyWay const> copy_ways() { return ways; }

}  // namespace sinew::bench
