// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sgd_digits {

/// FNV-1a over the bytes. It shows whether two runs, or two ranks, have the same bits.
inline std::uint64_t hash_bytes(std::span<std::byte const> bytes,
                                std::uint64_t start = 0xcbf29ce484222325u) {
    for (auto const byte : bytes)
        start = (start ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3u;
    return start;
}

/// Formats as "0x" and 16 digits, since JSON has no 64-bit integers.
inline std::string hash_text(std::uint64_t hash) {
    std::string text = "0x";
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(hash >> shift) & 15];
    return text;
}

}  // namespace sgd_digits
