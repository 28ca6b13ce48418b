// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/comm/buffer.hpp>
#include <sinew/comm/reduce_op.hpp>

#include <cstddef>

#include "collectives/reducer.hpp"
#include "src/comm/black_box/operation_record.hpp"

/// What short calls over the node's memory ask of their arguments. A call whose arguments are not
/// like this takes the general way, which performs or refuses it.
namespace sinew::detail {

/// Returns the kernel of a predefined operation on a type; null if it is not defined there or needs
/// more than a kernel.
collectives::Kernel kernel_of(ReduceOp const& op, DataType type);

/// Returns whether a buffer has bytes that the host can access.
bool is_usable(ConstBuffer const& buffer);
/// Returns whether two buffers have bytes in common.
bool overlap(ConstBuffer const& a, ConstBuffer const& b);
/// Returns whether `out` can take the result of a reduction of `in`: another buffer, or the same.
bool takes_result(ConstBuffer const& in, Buffer const& out);
/// Returns the kernel of a reduction of which this rank gets the result in `out`, if so many ranks need
/// nothing else; or null.
collectives::Kernel kernel_for_result(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                      int ranks);
/// Returns whether the root's `whole` consists of a block like `own` for each rank. `own` is unused
/// in place.
bool consists_of(ConstBuffer const& whole, ConstBuffer const& own, std::size_t ranks,
                 bool in_place);

inline std::byte const* bytes_of(ConstBuffer const& buffer) {
    return static_cast<std::byte const*>(buffer.data);
}
inline std::byte* bytes_of(Buffer const& buffer) { return static_cast<std::byte*>(buffer.data); }

inline OperationRecord reduction_record(Collective collective, ConstBuffer in, ReduceOp const& op,
                                        int root = -1) {
    return {.count = in.count,
            .root = root,
            .collective = collective,
            .type = in.type.kind(),
            .op = static_cast<std::uint8_t>(op.kind())};
}
inline OperationRecord movement_record(Collective collective, std::size_t count, DataType type,
                                       int root) {
    return {.count = count, .root = root, .collective = collective, .type = type.kind()};
}

}  // namespace sinew::detail
