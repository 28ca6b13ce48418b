// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace sgd_digits {

/// SplitMix64, in integers only, so that every rank and every platform draws the same numbers. The
/// distributions of <random> do not specify all bits.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    /// Makes one of several independent streams: Random(seed, 3) does not continue Random(seed, 2).
    Random(std::uint64_t seed, std::uint64_t stream) : state_(Random(seed).next() ^ stream) {
        state_ = next();
    }

    std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    /// Returns 0 .. count-1, for a count below 2^32.
    std::uint32_t below(std::uint32_t count) {
        return static_cast<std::uint32_t>(((next() >> 32) * count) >> 32);
    }
    /// Returns low .. high, both included.
    int between(int low, int high) {
        return low + static_cast<int>(below(static_cast<std::uint32_t>(high - low) + 1));
    }
    /// Returns a multiple of 2^-23 in [-1, 1), which is the same float on every platform.
    float symmetric() {
        return static_cast<float>(static_cast<std::int32_t>(next() >> 40) - (1 << 23)) * 0x1p-23f;
    }
    void shuffle(std::span<std::uint32_t> values) {
        for (std::size_t left = values.size(); left > 1; --left)
            std::swap(values[left - 1], values[below(static_cast<std::uint32_t>(left))]);
    }

private:
    std::uint64_t state_;
};

}  // namespace sgd_digits
