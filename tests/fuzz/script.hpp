// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sinew::fuzz {

/// Reads the fuzzer's bytes one after the other as moves of a game; gives 0 at the end.
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
    /// Mostly small numbers, sometimes near the limits of signed and unsigned types.
    std::uint64_t number() {
        auto const byte = next();
        if (byte < 200) return byte;
        auto const most = ~std::uint64_t{0};
        return byte < 228 ? most / 2 - (227 - byte) : most - (255 - byte);
    }
};

}  // namespace sinew::fuzz
