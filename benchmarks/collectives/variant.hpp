// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace sinew::bench {

/// Whether buffers are touched between the calls of a block.
enum class Variant : std::uint8_t {
    reused,  ///< untouched, as in the OSU benchmarks; flatters algorithms that leave lines shared
    live,    ///< the owner writes its input and reads its output in between, outside the timing
};

constexpr std::string_view name(Variant variant) {
    return variant == Variant::reused ? "reused" : "live";
}

}  // namespace sinew::bench
