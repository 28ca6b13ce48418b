// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace sinew::sgd {

/// A 64-bit hash of bytes, some GB/s: FNV-1a by words, in four lanes. It finds differences by
/// accident; it is no protection against intent.
class ContentHash {
public:
    ContentHash& add(void const* data, std::size_t bytes) {
        auto const* p = static_cast<unsigned char const*>(data);
        for (; bytes >= 32; bytes -= 32, p += 32)
            for (int lane = 0; lane < 4; ++lane) mix(lane, word(p + 8 * lane, 8));
        for (; bytes > 0; bytes -= bytes < 8 ? bytes : 8, p += 8)
            mix(0, word(p, bytes < 8 ? bytes : 8) + bytes);
        return *this;
    }
    ContentHash& add(std::uint64_t value) {
        mix(1, value);
        return *this;
    }
    ContentHash& add(std::string_view characters) {
        return add(characters.size()).add(characters.data(), characters.size());
    }
    std::uint64_t value() const {
        std::uint64_t all = 0;
        for (std::uint64_t const lane : lanes_) all = (all ^ lane ^ (lane >> 29)) * prime;
        return all ^ (all >> 32);
    }

private:
    static constexpr std::uint64_t prime = 0x9e3779b97f4a7c15u;

    static std::uint64_t word(unsigned char const* p, std::size_t bytes) {
        std::uint64_t value = 0;
        std::memcpy(&value, p, bytes);
        return value;
    }
    void mix(int lane, std::uint64_t value) {
        std::uint64_t const mixed = (lanes_[lane] ^ value) * prime;
        lanes_[lane] = mixed ^ (mixed >> 31);
    }

    std::uint64_t lanes_[4] = {1, 2, 3, 4};
};

}  // namespace sinew::sgd
