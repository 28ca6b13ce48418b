// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>

namespace sinew {

/// A value that is sent as it lies in memory.
template <class T>
concept PlainValue = std::is_trivially_copyable_v<T> && !std::ranges::view<T> &&
                     !std::convertible_to<T const&, std::string_view>;

template <PlainValue T>
std::span<std::byte const> bytes_of(T const& value) {
    return std::as_bytes(std::span(&value, 1));
}
inline std::span<std::byte const> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view text_of(std::span<std::byte const> bytes) {
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

/// Takes a value off the front of `bytes`. Nothing if there are too few.
template <PlainValue T>
std::optional<T> take_value(std::span<std::byte const>& bytes) {
    if (bytes.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    bytes = bytes.subspan(sizeof value);
    return value;
}

}  // namespace sinew
