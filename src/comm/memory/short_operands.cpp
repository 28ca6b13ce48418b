// SPDX-License-Identifier: Apache-2.0
#include "src/comm/memory/short_operands.hpp"

#include <array>

#include "src/comm/device/device_memory.hpp"

namespace sinew::detail {

using collectives::Kernel;

bool overlap(ConstBuffer const& a, ConstBuffer const& b) {
    return bytes_of(a) < bytes_of(b) + b.bytes() && bytes_of(b) < bytes_of(a) + a.bytes();
}

Kernel kernel_of(ReduceOp const& op, DataType type) {
    constexpr std::size_t types = DataType::kinds;
    using Table = std::array<std::array<Kernel, types>, ReduceOp::kinds>;
    static Table const table = [] {
        Table kernels{};
        for (std::size_t k = 0; k < kernels.size(); ++k)
            for (std::size_t t = 0; t < types; ++t)
                kernels[k][t] = collectives::predefined_kernel(static_cast<ReduceOp::Kind>(k),
                                                               static_cast<DataType::Kind>(t));
        return kernels;
    }();
    return table[static_cast<std::size_t>(op.kind())][static_cast<std::size_t>(type.kind())];
}

bool is_usable(ConstBuffer const& buffer) {
    return buffer.count > 0 && buffer.data != nullptr &&
           !is_device_memory(buffer.data, buffer.bytes());
}

bool takes_result(ConstBuffer const& in, Buffer const& out) {
    return in.type == out.type && in.count == out.count && is_usable(out) &&
           (in.data == out.data || !overlap(in, out));
}

Kernel kernel_for_result(ConstBuffer const& in, Buffer const& out, ReduceOp const& op, int ranks) {
    if (ranks > collectives::max_fused_inputs || !is_usable(in) || !takes_result(in, out))
        return nullptr;
    return kernel_of(op, in.type);
}

bool consists_of(ConstBuffer const& whole, ConstBuffer const& own, std::size_t ranks,
                 bool in_place) {
    if (!is_usable(whole)) return false;
    if (in_place) return whole.count % ranks == 0;
    return whole.type == own.type && whole.count == own.count * ranks && is_usable(own) &&
           !overlap(whole, own);
}

}  // namespace sinew::detail
