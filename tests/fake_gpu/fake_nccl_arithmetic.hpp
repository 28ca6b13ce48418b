// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <sinew/comm/float16.hpp>

namespace fake_nccl {

/// Types and operations by NCCL's numbers.
constexpr std::size_t type_sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

/// Combines `in` into `out`; the first input of a sum is stored. `scale` multiplies each input.
template <class T>
void combine_as(std::byte* out, std::byte const* in, std::size_t count, int op, double scale,
                bool first) {
    using Wide = std::conditional_t<sizeof(T) == 2, float, T>;
    for (std::size_t i = 0; i < count; ++i) {
        T element, sum;
        std::memcpy(&element, in + i * sizeof(T), sizeof(T));
        Wide value = static_cast<Wide>(element);
        if (scale != 1) value = static_cast<Wide>(value * static_cast<Wide>(scale));
        if (!first) {
            std::memcpy(&sum, out + i * sizeof(T), sizeof(T));
            auto const before = static_cast<Wide>(sum);
            if (op == 1) value = static_cast<Wide>(before * value);
            else if (op == 2) value = std::max(before, value);
            else if (op == 3) value = std::min(before, value);
            else value = static_cast<Wide>(before + value);
        }
        auto const result = static_cast<T>(value);
        std::memcpy(out + i * sizeof(T), &result, sizeof(T));
    }
}

inline void combine(int type, std::byte* out, std::byte const* in, std::size_t count, int op,
                    double scale, bool first) {
    switch (type) {
        case 0:
            return combine_as<std::int8_t>(out, in, count, op, scale, first);
        case 1:
            return combine_as<std::uint8_t>(out, in, count, op, scale, first);
        case 2:
            return combine_as<std::int32_t>(out, in, count, op, scale, first);
        case 3:
            return combine_as<std::uint32_t>(out, in, count, op, scale, first);
        case 4:
            return combine_as<std::int64_t>(out, in, count, op, scale, first);
        case 5:
            return combine_as<std::uint64_t>(out, in, count, op, scale, first);
        case 6:
            return combine_as<sinew::float16>(out, in, count, op, scale, first);
        case 7:
            return combine_as<float>(out, in, count, op, scale, first);
        case 8:
            return combine_as<double>(out, in, count, op, scale, first);
        default:
            return combine_as<sinew::bfloat16>(out, in, count, op, scale, first);
    }
}

}  // namespace fake_nccl
