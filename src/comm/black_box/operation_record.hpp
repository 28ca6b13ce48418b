// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include <sinew/comm/algorithm.hpp>
#include <sinew/comm/data_type.hpp>
#include <sinew/comm/reduce_op.hpp>

namespace sinew::detail {

/// What the black box keeps of a collective call: the arguments that must be equal on all ranks, and
/// when this rank was in it. Sent as it is.
struct OperationRecord {
    static constexpr std::uint8_t no_op = 0xff;

    std::uint64_t sequence = 0;  ///< its number on the communicator, from 1
    std::uint64_t count = 0;     ///< elements; 0 where the ranks may differ
    std::int64_t entered = 0;    ///< nanoseconds of the steady clock; 0: it was not read
    std::int64_t left = 0;       ///< the same
    std::int32_t root = -1;
    Collective collective = Collective::barrier;
    DataType::Kind type = DataType::Kind::u8;
    std::uint8_t op = no_op;  ///< a ReduceOp::Kind
    bool device = false;      ///< the buffers are in GPU memory

    /// Whether two ranks made the same call.
    bool same_call(OperationRecord const& other) const {
        return collective == other.collective && type == other.type && op == other.op &&
               root == other.root && count == other.count && device == other.device;
    }
    /// Returns "allreduce(f32 x 1000, sum)".
    std::string text() const;
};

}  // namespace sinew::detail
