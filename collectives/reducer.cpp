// SPDX-License-Identifier: Apache-2.0
#include "collectives/reducer.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include <sinew/error.hpp>

#include "collectives/kernels/kernels.hpp"
#include "src/base/text.hpp"

namespace sinew::collectives {
namespace {

using Inputs = std::span<void const* const>;

constexpr std::size_t block_bytes = 4096;

std::byte* at(void* data, std::size_t offset) { return static_cast<std::byte*>(data) + offset; }
std::byte const* at(void const* data, std::size_t offset) {
    return static_cast<std::byte const*>(data) + offset;
}

kernels::Kernels find_kernels(ReduceOp::Kind op, DataType::Kind type) {
    for (auto const family :
         {kernels::arithmetic, kernels::extremum, kernels::bitwise, kernels::located})
        if (auto const found = family(op, type); found.combine != nullptr) return found;
    return {};
}

/// Combines more inputs than a kernel takes, in groups. It works block by block so that
/// intermediate results stay in the cache. `out` may be any of the inputs, so it gets only finished
/// blocks.
void combine_many(Kernel kernel, std::size_t size, void* out, Inputs in, std::size_t count) {
    alignas(64) std::array<std::byte, block_bytes> sum;
    std::array<void const*, max_fused_inputs> group;
    std::size_t const block = block_bytes / size;
    for (std::size_t first = 0; first < count; first += block) {
        std::size_t const elements = std::min(block, count - first);
        std::size_t used = 0;
        for (bool more = true; more;) {
            std::size_t n = 0;
            if (used > 0) group[n++] = sum.data();
            while (n < group.size() && used < in.size()) group[n++] = at(in[used++], first * size);
            more = used < in.size();
            void* const to = more ? sum.data() : at(out, first * size);
            kernel(to, group.data(), static_cast<int>(n), elements);
        }
    }
}

/// Does the same for sums and products of 16-bit floats, which are rounded only once, at the end.
void combine_many_halves(Kernel f32_kernel, DataType type, void* out, Inputs in,
                         std::size_t count) {
    constexpr std::size_t block = 256;
    alignas(64) std::array<std::array<float, block>, max_fused_inputs> wide;
    std::array<void const*, max_fused_inputs> group;
    for (std::size_t k = 0; k < group.size(); ++k) group[k] = wide[k].data();
    for (std::size_t first = 0; first < count; first += block) {
        std::size_t const elements = std::min(block, count - first);
        for (std::size_t used = 0; used < in.size();) {
            std::size_t n = used > 0 ? 1 : 0;
            while (n < group.size() && used < in.size())
                widen(wide[n++].data(), at(in[used++], first * type.size()), elements, type);
            f32_kernel(wide[0].data(), group.data(), static_cast<int>(n), elements);
        }
        narrow(at(out, first * type.size()), wide[0].data(), elements, type);
    }
}

void combine_pairwise(ReduceOp::UserFunction const& user, std::size_t size, void* out, Inputs in,
                      std::size_t count) {
    // Writing the first results into out would destroy an input that is still to come.
    if (std::find(in.begin() + 2, in.end(), out) == in.end()) {
        user.apply(out, in[0], in[1], count);
        for (void const* const higher : in.subspan(2)) user.apply(out, out, higher, count);
        return;
    }
    std::size_t const block = std::max<std::size_t>(1, block_bytes / size);
    std::vector<std::byte> sum(block * size);
    for (std::size_t first = 0; first < count; first += block) {
        std::size_t const elements = std::min(block, count - first);
        void const* lower = at(in[0], first * size);
        for (void const* const higher : in.subspan(1)) {
            user.apply(sum.data(), lower, at(higher, first * size), elements);
            lower = sum.data();
        }
        std::memcpy(at(out, first * size), sum.data(), elements * size);
    }
}

}  // namespace

Kernel predefined_kernel(ReduceOp::Kind op, DataType::Kind type) {
    bool const more = op == ReduceOp::Kind::average || op == ReduceOp::Kind::user;
    return more ? nullptr : find_kernels(op, type).combine;
}

Reducer::Reducer(ReduceOp const& op, DataType type)
    : type_(type), commutative_(op.commutative()), user_(op.user_function()) {
    if (!op.accepts(type))
        throw UsageError(
            text("operation ", op.name(), " on elements of type ", type.name(),
                 " (it is not defined on them). Choose another, or make one with reduce_op<T>"));
    if (user_ == nullptr) {
        auto const found = find_kernels(op.kind(), type.kind());
        kernel_ = found.combine;
        stream_kernel_ = found.stream;
    }
    bool const rounds = op.kind() == ReduceOp::Kind::sum || op.kind() == ReduceOp::Kind::prod ||
                        op.kind() == ReduceOp::Kind::average;
    if (type.is_16_bit_float() && rounds)
        f32_kernel_ = find_kernels(op.kind(), DataType::Kind::f32).combine;
}

void Reducer::combine(void* out, std::span<void const* const> in, std::size_t count) const {
    if (count == 0) return;
    if (in.size() == 1) {
        if (out != in[0]) std::memcpy(out, in[0], count * type_.size());
    } else if (user_ != nullptr) {
        combine_pairwise(*user_, type_.size(), out, in, count);
    } else if (in.size() <= max_fused_inputs) {
        kernel_(out, in.data(), static_cast<int>(in.size()), count);
    } else if (f32_kernel_ != nullptr) {
        combine_many_halves(f32_kernel_, type_, out, in, count);
    } else {
        combine_many(kernel_, type_.size(), out, in, count);
    }
}

}  // namespace sinew::collectives
