// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sinew/comm/reduce_op.hpp>

namespace sinew::collectives {

/// The maximum number of inputs that one kernel call combines.
inline constexpr int max_fused_inputs = 8;

/// Computes out[i] = in[0][i] op in[1][i] op ... in that order, for 2..max_fused_inputs inputs.
/// `out` may equal an input but must not overlap one partially. 16-bit floats are rounded once,
/// from f32.
using Kernel = void (*)(void* out, void const* const* in, int inputs, std::size_t count);

/// The kernel of an operation that needs nothing else; null if the operation is user-defined, an
/// average, or not defined on the type.
Kernel predefined_kernel(ReduceOp::Kind op, DataType::Kind type);

/// What completes a sum of all inputs: each element is divided, as `average` is, or multiplied. 16-bit floats are
/// widened to f32 and rounded again, all other types keep theirs.
struct Completion {
    enum class Kind : std::uint8_t { none, divide, multiply };

    Kind kind = Kind::none;
    double number = 1;

    static Completion divide_by(int ranks) {
        // A product with a power of two has the same bits as the quotient, and takes a fraction of its time.
        if (std::has_single_bit(static_cast<unsigned>(ranks))) return multiply_by(1.0 / ranks);
        return {Kind::divide, static_cast<double>(ranks)};
    }
    static Completion multiply_by(double factor) {
        return factor == 1 ? Completion{} : Completion{Kind::multiply, factor};
    }
    bool exists() const { return kind != Kind::none; }
    /// Throws UsageError unless the type is floating-point or complex.
    void apply(void* data, std::size_t count, DataType type) const;
};

/// Where a StreamKernel stores the completed result.
struct StreamedResults {
    std::byte* const* places;
    std::size_t count;
    Completion completion;  ///< only of a sum
};

/// Combines `bytes` of the inputs from `offset` on, as a Kernel does, and stores the result in several places past the caches, directly from
/// registers. Requires: all places are aligned to 64 bytes at the offset, and `bytes` is a multiple of that. An input may be where a result
/// goes. Others may read the results when this thread has called kernels::fence_streams.
using StreamKernel = void (*)(StreamedResults const& to, void const* const* in, int inputs,
                              std::size_t offset, std::size_t bytes);

/// An operation on one element type, ready to run. The result has the same bits on every
/// instruction set, except for the choice of NaN in a sum or product that is NaN. In min, max,
/// minloc and maxloc, NaN wins over every number; min and max order -0 before +0. `average` reduces
/// as `sum`; the rank that holds the final sum must divide it (`Completion`).
class Reducer {
public:
    /// Selects the kernel for this machine. Throws UsageError unless op.accepts(type). A
    /// user-defined `op` must outlive the reducer.
    Reducer(ReduceOp const& op, DataType type);

    DataType type() const { return type_; }
    std::size_t element_size() const { return type_.size(); }
    bool commutative() const { return commutative_; }
    /// Whether it is not a function of the program.
    bool predefined() const { return user_ == nullptr; }
    /// Whether to combine the result for the lower ranks with the inputs of the others gives the same
    /// bits as to combine all inputs at once; not if that rounds only at the end.
    bool combines_in_parts() const { return f32_kernel_ == nullptr; }

    /// What combines so many inputs and stores results past the caches; null if there is no such kernel.
    StreamKernel stream_kernel_of(std::size_t inputs) const {
        return inputs >= 2 && inputs <= max_fused_inputs ? stream_kernel_ : nullptr;
    }

    /// out = lower op higher, where `lower` comes from the lower ranks; `out` may be either input.
    void combine(void* out, void const* lower, void const* higher, std::size_t count) const {
        void const* const in[] = {lower, higher};
        if (kernel_ != nullptr) kernel_(out, in, 2, count);
        else combine(out, in, count);
    }
    /// out = in[0] op in[1] op ..., in that order, for one or more inputs.
    void combine(void* out, std::span<void const* const> in, std::size_t count) const;

private:
    DataType type_;
    bool commutative_;
    Kernel kernel_ = nullptr;  // null if the operation is user-defined
    StreamKernel stream_kernel_ = nullptr;
    Kernel f32_kernel_ = nullptr;  // combines more than max_fused_inputs 16-bit float inputs
    ReduceOp::UserFunction const* user_ = nullptr;
};

/// Convert f16 or bf16 to f32 and back (round to nearest even), to accumulate reductions in f32.
void widen(float* out, void const* in, std::size_t count, DataType from);
void narrow(void* out, float const* in, std::size_t count, DataType to);

}  // namespace sinew::collectives
