// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <sinew/comm/algorithm.hpp>

namespace sinew::detail {

/// Returns a number by which ranks that share memory recognise that another one makes another call;
/// see node_memory::Room::sign. `root` is 0 for a collective without one, and `bytes` is 0 if the
/// ranks know different sizes.
constexpr std::uint16_t signature_of(Collective collective, int root, std::size_t bytes) {
    std::uint64_t const call =
        static_cast<std::uint64_t>(collective) << 32 | static_cast<std::uint32_t>(root);
    std::uint64_t const mixed =
        (bytes + 1) * 0x9E3779B97F4A7C15u ^ (call + 1) * 0xC2B2AE3D27D4EB4Fu;
    return static_cast<std::uint16_t>(mixed >> 48);
}

}  // namespace sinew::detail
