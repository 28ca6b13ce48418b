// SPDX-License-Identifier: Apache-2.0
#include <array>

#include <sinew/error.hpp>
#include <sinew/sgd/gradient_buckets.hpp>

#include "src/base/text.hpp"

namespace sinew {

namespace {

constexpr std::array<std::string_view, 5> wire_format_names{"native", "bf16", "f16", "fp8", "int8"};

}  // namespace

std::string_view name(WireFormat format) {
    return wire_format_names[static_cast<std::size_t>(format)];
}

WireFormat parse_wire_format(std::string_view name) {
    std::string known;
    for (std::size_t i = 0; i < wire_format_names.size(); ++i) {
        if (wire_format_names[i] == name) return static_cast<WireFormat>(i);
        known.append(i == 0 ? "" : ", ").append(wire_format_names[i]);
    }
    throw UsageError(text("no wire format '", name, "' (there are: ", known, ")"));
}

}  // namespace sinew
