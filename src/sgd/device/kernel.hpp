// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace sinew::sgd {

/// The kernels of the image, each a function of one structure. Its name there is "sinew_" and this one.
enum class Kernel : std::size_t {
    flatten,
    unflatten,
    convert,
    add,
    sgd,
    quantise,
    dequantise,
    sum_rows,
    squares,
    selection_begin,
    selection_histogram,
    selection_choose,
    selection_gather,
    selection_count,
    selection_offsets,
    selection_compact,
};

inline constexpr std::array kernel_names{
    "sinew_flatten",
    "sinew_unflatten",
    "sinew_convert",
    "sinew_add",
    "sinew_sgd",
    "sinew_quantise",
    "sinew_dequantise",
    "sinew_sum_rows",
    "sinew_squares",
    "sinew_selection_begin",
    "sinew_selection_histogram",
    "sinew_selection_choose",
    "sinew_selection_gather",
    "sinew_selection_count",
    "sinew_selection_offsets",
    "sinew_selection_compact",
};
inline constexpr std::size_t kernel_count = kernel_names.size();
static_assert(kernel_count == static_cast<std::size_t>(Kernel::selection_compact) + 1);

inline constexpr char const* name_of(Kernel kernel) {
    return kernel_names[static_cast<std::size_t>(kernel)];
}

}  // namespace sinew::sgd
