// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/sgd/device/kernel_machine.hpp"

namespace sinew::tests {

/// A call of a kernel on a machine, whose results must have the bits of the twin's on the host.
struct KernelCase {
    std::string name;
    /// Returns how the results differ; empty if they do not.
    std::function<std::string(KernelMachine&)> run;
};

/// Every kernel, with all formats, aligned and not, with NaN, infinities and the smallest numbers.
std::vector<KernelCase> kernel_cases();

/// `count` numbers of many magnitudes; some are zero, infinite, NaN or subnormal if `special`.
std::vector<float> kernel_numbers(std::size_t count, unsigned seed, bool special);

/// The numbers in a format.
std::vector<unsigned char> encoded_numbers(std::vector<float> const& values,
                                           sgd::FloatFormat format);

/// Values that are hard to select from. `close` ones have the bits of the first pass in common, `clustered`
/// ones those of some chunks.
enum class SelectionValues { equal, close, clustered, zeros, nan };
inline constexpr SelectionValues all_selection_values[] = {
    SelectionValues::equal, SelectionValues::close, SelectionValues::clustered,
    SelectionValues::zeros, SelectionValues::nan};
char const* name_of(SelectionValues kind);
std::vector<float> selection_values(SelectionValues kind, std::size_t count);

/// The launches of DeviceKernels::select on the host, with `blocks` each and memory of its own.
void select_on_host(sgd::Selection call, unsigned blocks);

}  // namespace sinew::tests
