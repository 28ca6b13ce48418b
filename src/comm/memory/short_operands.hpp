// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/comm/buffer.hpp>
#include <sinew/comm/reduce_op.hpp>

#include <array>
#include <cstddef>

#include "collectives/reducer.hpp"
#include "src/comm/black_box/operation_record.hpp"
#include "src/comm/device/device_memory.hpp"

/// What short calls over the node's memory ask of their arguments. Such a call takes less than 100 ns, and GCC does not inline
/// functions of this length into all ten collectives by itself; hence always_inline. A call whose arguments are not
/// like this takes the general way, which performs or refuses it.
namespace sinew::detail {

/// The kernels of predefined operations. A communicator keeps a reference to them.
class ShortKernels {
public:
    static ShortKernels const& all();
    /// The kernel of an operation on a type; null if it is not defined there or needs more than a kernel.
    collectives::Kernel of(ReduceOp const& op, DataType type) const {
        return kernels_[static_cast<std::size_t>(op.kind())][static_cast<std::size_t>(type.kind())];
    }
    /// The kernel of a reduction of which this rank gets the result in `out`, if so many ranks need
    /// nothing else; or null.
    collectives::Kernel for_result(ConstBuffer const& in, Buffer const& out, ReduceOp const& op,
                                   int ranks) const;

private:
    ShortKernels();
    std::array<std::array<collectives::Kernel, DataType::kinds>, ReduceOp::kinds> kernels_{};
};

inline std::byte const* bytes_of(ConstBuffer const& buffer) {
    return static_cast<std::byte const*>(buffer.data);
}
inline std::byte* bytes_of(Buffer const& buffer) { return static_cast<std::byte*>(buffer.data); }

/// Returns whether a buffer has bytes that the host can access.
[[gnu::always_inline]] inline bool is_usable(ConstBuffer const& buffer) {
    return buffer.count > 0 && buffer.data != nullptr &&
           !is_device_memory(buffer.data, buffer.bytes());
}
/// Returns whether two buffers have bytes in common.
[[gnu::always_inline]] inline bool overlap(ConstBuffer const& a, ConstBuffer const& b) {
    return bytes_of(a) < bytes_of(b) + b.bytes() && bytes_of(b) < bytes_of(a) + a.bytes();
}
/// Returns whether `out` can take the result of a reduction of `in`: another buffer, or the same.
[[gnu::always_inline]] inline bool takes_result(ConstBuffer const& in, Buffer const& out) {
    return in.type == out.type && in.count == out.count && is_usable(out) &&
           (in.data == out.data || !overlap(in, out));
}

[[gnu::always_inline]] inline collectives::Kernel ShortKernels::for_result(ConstBuffer const& in,
                                                                           Buffer const& out,
                                                                           ReduceOp const& op,
                                                                           int ranks) const {
    if (ranks > collectives::max_fused_inputs || !is_usable(in) || !takes_result(in, out))
        return nullptr;
    return of(op, in.type);
}
/// Returns whether the root's `whole` consists of a block like `own` for each rank. `own` is unused
/// in place.
bool consists_of(ConstBuffer const& whole, ConstBuffer const& own, std::size_t ranks,
                 bool in_place);

inline OperationRecord reduction_record(Collective collective, ConstBuffer const& in,
                                        ReduceOp const& op, int root = -1) {
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
