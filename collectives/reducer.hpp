// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include <sinew/comm/reduce_op.hpp>

namespace sinew::collectives {

/// Most inputs one kernel call combines.
inline constexpr int max_fused_inputs = 8;

/// out[i] = in[0][i] op in[1][i] op ... in that order, for 2..max_fused_inputs inputs. `out` may be
/// any of the inputs, but not overlap one otherwise. 16-bit floats: one rounding, from f32.
using Kernel = void (*)(void* out, void const* const* in, int inputs, std::size_t count);

/// An operation on one element type, ready to run. The result is the same in every bit on every
/// instruction set, except which NaN a sum or product becomes that has one. min, max, minloc and
/// maxloc let NaN win over every number; to min and max -0 is less than +0. `average` reduces as
/// `sum`; who holds the final sum divides it (`scale_by_ranks`).
class Reducer {
public:
    /// Finds the kernel for this machine, once. Throws UsageError unless op.accepts(type); `op` must
    /// outlive the reducer if user-defined.
    Reducer(ReduceOp const& op, DataType type);

    DataType type() const { return type_; }
    std::size_t element_size() const { return type_.size(); }
    bool commutative() const { return commutative_; }

    /// out = lower op higher, `lower` being of the lower ranks; `out` may be either.
    void combine(void* out, void const* lower, void const* higher, std::size_t count) const {
        void const* const in[] = {lower, higher};
        if (kernel_ != nullptr) kernel_(out, in, 2, count);
        else combine(out, in, count);
    }
    /// out = in[0] op in[1] op ..., any number of inputs >= 1, in order.
    void combine(void* out, std::span<void const* const> in, std::size_t count) const;

private:
    DataType type_;
    bool commutative_;
    Kernel kernel_ = nullptr;      // null if user-defined
    Kernel f32_kernel_ = nullptr;  // for sums and products of more 16-bit floats than fuse
    ReduceOp::UserFunction const* user_ = nullptr;
};

/// data[i] = data[i] / ranks, for floating and complex types (the end of `average`).
void scale_by_ranks(void* data, std::size_t count, DataType type, int ranks);

/// f16 or bf16 to f32 and back (round to nearest even), for reductions that accumulate in f32.
void widen(float* out, void const* in, std::size_t count, DataType from);
void narrow(void* out, float const* in, std::size_t count, DataType to);

}  // namespace sinew::collectives
