// SPDX-License-Identifier: Apache-2.0
#include "src/comm/memory/short_operands.hpp"

namespace sinew::detail {

ShortKernels::ShortKernels() {
    for (std::size_t k = 0; k < ReduceOp::kinds; ++k)
        for (std::size_t t = 0; t < DataType::kinds; ++t)
            kernels_[k][t] = collectives::predefined_kernel(static_cast<ReduceOp::Kind>(k),
                                                            static_cast<DataType::Kind>(t));
}

ShortKernels const& ShortKernels::all() {
    static ShortKernels const kernels;
    return kernels;
}

bool consists_of(ConstBuffer const& whole, ConstBuffer const& own, std::size_t ranks,
                 bool in_place) {
    if (!is_usable(whole)) return false;
    if (in_place) return whole.count % ranks == 0;
    return whole.type == own.type && whole.count == own.count * ranks && is_usable(own) &&
           !overlap(whole, own);
}

}  // namespace sinew::detail
