// SPDX-License-Identifier: Apache-2.0
#include "launchers/common/encoding.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sinew::launch {

namespace {

/// Returns the length in bytes of the sequence at the front of `bytes`; 0 if it is not valid.
std::size_t sequence(std::string_view bytes) {
    auto const at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
    auto const lead = at(0);
    if (lead < 0x80) return 1;
    std::size_t const length = lead < 0xc2   ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || bytes.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80) return 0;
    // The second byte rules out overlong forms, surrogates, and code points above U+10FFFF.
    if (lead == 0xe0 && at(1) < 0xa0) return 0;
    if (lead == 0xed && at(1) > 0x9f) return 0;
    if (lead == 0xf0 && at(1) < 0x90) return 0;
    if (lead == 0xf4 && at(1) > 0x8f) return 0;
    return length;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
    while (!bytes.empty()) {
        auto const length = sequence(bytes);
        if (length == 0) return false;
        bytes.remove_prefix(length);
    }
    return true;
}

std::string base64(std::string_view bytes) {
    static constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string out;
    out.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t j = 0; j < 3; ++j)
            group =
                group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
        for (std::size_t j = 0; j < 4; ++j)
            out += i + j > bytes.size() ? '=' : digits[group >> (18 - 6 * j) & 63];
    }
    return out;
}

std::optional<std::string> from_base64(std::string_view text) {
    auto const value = [](char c) -> std::uint32_t {
        if (c >= 'A' && c <= 'Z') return static_cast<std::uint32_t>(c - 'A');
        if (c >= 'a' && c <= 'z') return static_cast<std::uint32_t>(c - 'a') + 26;
        if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0') + 52;
        return c == '+' ? 62 : c == '/' ? 63 : 64;
    };
    if (text.size() % 4 != 0) return std::nullopt;
    std::string out;
    out.reserve(text.size() / 4 * 3);
    for (std::size_t i = 0; i < text.size(); i += 4) {
        auto const group = text.substr(i, 4);
        // Padding is one or two '=' at the very end.
        auto const digits = std::min<std::size_t>(group.find('='), 4);
        bool const last = i + 4 == text.size();
        if (digits < 2 || (digits < 4 && !last)) return std::nullopt;
        if (group.find_first_not_of('=', digits) != group.npos) return std::nullopt;
        std::uint32_t bits = 0;
        for (std::size_t j = 0; j < 4; ++j) {
            auto const one = j < digits ? value(group[j]) : 0;
            if (one == 64) return std::nullopt;
            bits = bits << 6 | one;
        }
        for (std::size_t j = 0; j + 1 < digits; ++j)
            out += static_cast<char>(bits >> (16 - 8 * j) & 0xff);
    }
    return out;
}

}  // namespace sinew::launch
