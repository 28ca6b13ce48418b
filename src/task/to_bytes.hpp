// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <sinew/task/encoding.hpp>
#include <span>
#include <vector>

namespace sinew {

/// The encoded value.
template <class T>
std::vector<std::byte> to_bytes(T const& value) {
    Writer writer;
    encode(writer, value);
    auto const bytes = writer.bytes();
    return {bytes.begin(), bytes.end()};
}

/// Throws DecodeError.
template <class T>
T from_bytes(std::span<std::byte const> bytes) {
    Reader reader(bytes);
    return decode<T>(reader);
}

}  // namespace sinew
