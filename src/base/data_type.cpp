// SPDX-License-Identifier: Apache-2.0
#include <sinew/comm/data_type.hpp>

#include <array>

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew {
namespace {

// The order is that of DataType::Kind.
// clang-format off
constexpr std::array type_names{
    "f16", "bf16", "f32", "f64", "c64", "c128",
    "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64",
    "f32_index", "f64_index", "i32_index", "i64_index",
};
// clang-format on
static_assert(type_names.size() + 1 == DataType::kinds);  // opaque has no fixed name

}  // namespace

std::string DataType::name() const {
    if (kind_ == Kind::opaque) return text("opaque(", size_, ")");
    return type_names[static_cast<std::size_t>(kind_)];
}

DataType parse_data_type(std::string const& name) {
    for (std::size_t i = 0; i < type_names.size(); ++i)
        if (name == type_names[i]) return static_cast<DataType::Kind>(i);
    std::string known;
    for (char const* each : type_names) known += text(known.empty() ? "" : ", ", each);
    throw UsageError(text("there is no element type \"", name, "\" (there are: ", known,
                          "). Choose one of these"));
}

}  // namespace sinew
