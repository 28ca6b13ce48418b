// SPDX-License-Identifier: Apache-2.0
// The output of rank_program, so that the tests know what to expect.
#pragma once

#include <cstdint>
#include <string>

namespace sinew::testing_support {

inline std::uint32_t mix(std::uint32_t value) {
    value ^= value >> 16;
    value *= 0x7feb352dU;
    value ^= value >> 15;
    value *= 0x846ca68bU;
    return value ^ value >> 16;
}

/// Mostly short lines; some are longer than a page or, unless limited, than a pipe's buffer.
inline std::string line_of(int rank, char stream, int number, std::size_t longest = 60'000) {
    auto const random = mix(static_cast<std::uint32_t>(rank * 2 + (stream == 'e')) * 1000003U +
                            static_cast<std::uint32_t>(number));
    std::size_t const length = random % 64 == 0    ? 5000 + random % 3000
                               : random % 512 == 1 ? longest
                                                   : random % 120;
    std::string line = std::to_string(rank) + stream + std::to_string(number) + ":";
    line.append(length, static_cast<char>('a' + random % 26));
    return line + "\n";
}

/// Pseudo-random bytes.
inline std::string noise(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i)
        bytes[i] = static_cast<char>(mix(static_cast<std::uint32_t>(i)) >> 8);
    return bytes;
}

/// An order-dependent checksum; may be updated in pieces.
struct Checksum {
    std::uint64_t value = 0xcbf29ce484222325U;
    template <class Bytes>
    void feed(Bytes const& bytes) {
        for (char const byte : bytes)
            value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3U;
    }
};

}  // namespace sinew::testing_support
