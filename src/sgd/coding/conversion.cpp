// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/coding/conversion.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "collectives/reducer.hpp"

namespace sinew::sgd {

namespace {

/// Elements that are converted at a time, through a buffer in the first-level cache.
constexpr std::size_t tile = 1024;

std::byte* element(void* data, DataType type, std::size_t index) {
    return static_cast<std::byte*>(data) + index * type.size();
}
std::byte const* element(void const* data, DataType type, std::size_t index) {
    return static_cast<std::byte const*>(data) + index * type.size();
}

void load(float* to, std::byte const* from, DataType type, std::size_t count) {
    if (type.is_16_bit_float()) return collectives::widen(to, from, count, type);
    if (type == DataType::Kind::f32) {
        std::memcpy(to, from, count * sizeof(float));
        return;
    }
    auto const* const doubles = reinterpret_cast<double const*>(from);
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<float>(doubles[i]);
}

void store(std::byte* to, float const* from, DataType type, std::size_t count) {
    if (type.is_16_bit_float()) return collectives::narrow(to, from, count, type);
    if (type == DataType::Kind::f32) {
        std::memcpy(to, from, count * sizeof(float));
        return;
    }
    auto* const doubles = reinterpret_cast<double*>(to);
    for (std::size_t i = 0; i < count; ++i) doubles[i] = double{from[i]};
}

/// Scales elements of f32 or f64.
template <class Float>
void scale_as(void* to, void const* from, std::size_t count, Float scale) {
    auto* const out = static_cast<Float*>(to);
    auto const* const in = static_cast<Float const*>(from);
    for (std::size_t i = 0; i < count; ++i) out[i] = in[i] * scale;
}

/// Whether the exponent of no element is that of NaN and infinity: all bits of `mask` are one.
template <class Word>
bool none_has_all_of(Word mask, void const* elements, std::size_t count) {
    auto const* const words = static_cast<Word const*>(elements);
    for (std::size_t first = 0; first < count; first += tile) {
        std::size_t const end = std::min(count, first + tile);
        Word found = 0;
        for (std::size_t i = first; i < end; ++i)
            found = static_cast<Word>(found | ((words[i] & mask) == mask ? 1 : 0));
        if (found != 0) return false;
    }
    return true;
}

template <class Float>
double squares(Float const* elements, std::size_t count) {
    std::array<double, 8> sums{};
    std::size_t i = 0;
    for (; i + sums.size() <= count; i += sums.size())
        for (std::size_t lane = 0; lane < sums.size(); ++lane) {
            double const value = elements[i + lane];
            sums[lane] += value * value;
        }
    for (; i < count; ++i) sums[0] += double{elements[i]} * double{elements[i]};
    double all = 0;
    for (double const sum : sums) all += sum;
    return all;
}

}  // namespace

void convert(void* to, DataType to_type, void const* from, DataType from_type, std::size_t count,
             double scale) {
    if (count == 0) return;
    if (to_type == from_type) {
        if (scale == 1) {
            if (to != from) std::memcpy(to, from, count * to_type.size());
            return;
        }
        if (to_type == DataType::Kind::f64) return scale_as<double>(to, from, count, scale);
        if (to_type == DataType::Kind::f32)
            return scale_as<float>(to, from, count, static_cast<float>(scale));
    }
    std::array<float, tile> values;
    for (std::size_t first = 0; first < count; first += tile) {
        std::size_t const n = std::min(tile, count - first);
        load(values.data(), element(from, from_type, first), from_type, n);
        if (scale != 1)
            for (std::size_t i = 0; i < n; ++i) values[i] *= static_cast<float>(scale);
        store(element(to, to_type, first), values.data(), to_type, n);
    }
}

bool all_finite(void const* elements, DataType type, std::size_t count) {
    switch (type.kind()) {
        case DataType::Kind::f16:
            return none_has_all_of<std::uint16_t>(0x7c00u, elements, count);
        case DataType::Kind::bf16:
            return none_has_all_of<std::uint16_t>(0x7f80u, elements, count);
        case DataType::Kind::f64:
            return none_has_all_of<std::uint64_t>(0x7ff0000000000000u, elements, count);
        default:
            return none_has_all_of<std::uint32_t>(0x7f800000u, elements, count);
    }
}

double sum_of_squares(void const* elements, DataType type, std::size_t count) {
    if (type == DataType::Kind::f64) return squares(static_cast<double const*>(elements), count);
    if (type == DataType::Kind::f32) return squares(static_cast<float const*>(elements), count);
    std::array<float, tile> values;
    double all = 0;
    for (std::size_t first = 0; first < count; first += tile) {
        std::size_t const n = std::min(tile, count - first);
        load(values.data(), element(elements, type, first), type, n);
        all += squares(values.data(), n);
    }
    return all;
}

}  // namespace sinew::sgd
