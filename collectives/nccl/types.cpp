// SPDX-License-Identifier: Apache-2.0
#include "collectives/nccl/types.hpp"

#include "collectives/nccl/abi.hpp"

namespace sinew::collectives::nccl {

namespace {

std::optional<int> type_of(DataType type) {
    using Kind = DataType::Kind;
    switch (type.kind()) {
        case Kind::f16:
            return type_f16;
        case Kind::bf16:
            return type_bf16;
        case Kind::f32:
        case Kind::c64:
            return type_f32;
        case Kind::f64:
        case Kind::c128:
            return type_f64;
        case Kind::i8:
            return type_i8;
        case Kind::i32:
            return type_i32;
        case Kind::i64:
            return type_i64;
        case Kind::u8:
            return type_u8;
        case Kind::u32:
            return type_u32;
        case Kind::u64:
            return type_u64;
        default:
            return std::nullopt;
    }
}

}  // namespace

std::optional<Reduction> reduction(DataType type, ReduceOp const& op) {
    using Kind = ReduceOp::Kind;
    auto const element = type_of(type);
    if (!element || !op.accepts(type)) return std::nullopt;
    std::size_t const parts = type.is_complex() ? 2 : 1;
    Reduction found{*element, parts, op_sum, false};
    switch (op.kind()) {
        case Kind::sum:
            return found;
        case Kind::average:
            found.averages = true;
            return found;
        case Kind::prod:
            found.op = op_prod;
            break;
        case Kind::min:
            found.op = op_min;
            break;
        case Kind::max:
            found.op = op_max;
            break;
        default:
            return std::nullopt;
    }
    return parts == 1 ? std::optional(found) : std::nullopt;
}

}  // namespace sinew::collectives::nccl
