// SPDX-License-Identifier: Apache-2.0
// Chooses among the functions that one source yields, one per instruction set.
#pragma once

#include <type_traits>

namespace sinew::collectives::kernels {

enum class Level { other, avx2, avx512 };

/// The best level that this machine and the compiled kernels have, or that of a ForcedTarget.
Level chosen_level();

template <class Function>
Function* choose(std::type_identity_t<Function>* avx512, std::type_identity_t<Function>* avx2,
                 Function* other) {
    Level const level = chosen_level();
    return level == Level::avx512 ? avx512 : level == Level::avx2 ? avx2 : other;
}

}  // namespace sinew::collectives::kernels

/// The variant of `function` to call. Requires: HWY_ONCE.
#define SINEW_DISPATCH(function)                                                                \
    ::sinew::collectives::kernels::choose(HWY_CHOOSE_AVX3(function), HWY_CHOOSE_AVX2(function), \
                                          HWY_CHOOSE_FALLBACK(function))
