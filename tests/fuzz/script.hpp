// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sinew::fuzz {

/// The fuzzer's bytes as the moves of a game: one after the other, and 0 where there are no more.
struct Script {
    std::span<std::byte const> left;

    unsigned next() {
        if (left.empty()) return 0;
        auto const byte = std::to_integer<unsigned>(left[0]);
        left = left.subspan(1);
        return byte;
    }
    std::span<std::byte const> some() {
        auto const size = std::min<std::size_t>(next(), left.size());
        auto const bytes = left.first(size);
        left = left.subspan(size);
        return bytes;
    }
    /// Mostly small, now and then near the end of what there is, signed or not.
    std::uint64_t number() {
        auto const byte = next();
        if (byte < 200) return byte;
        auto const most = ~std::uint64_t{0};
        return byte < 228 ? most / 2 - (227 - byte) : most - (255 - byte);
    }
};

}  // namespace sinew::fuzz
