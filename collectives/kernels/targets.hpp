// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sinew::collectives::kernels {

/// Instruction sets that the kernels were compiled for and this machine has, best first: "AVX3"
/// (AVX-512), "AVX2", "NEON"; "SCALAR" or "EMU128" is portable C++, where it may be needed.
std::vector<std::string> targets();

/// While it lives, new Reducers, widen, narrow and scale_by_ranks use this instruction set. For
/// tests and benchmarks: process-wide and not for several threads.
class ForcedTarget {
public:
    /// Throws UsageError for a name that `targets` does not list.
    explicit ForcedTarget(std::string const& name);
    ForcedTarget(ForcedTarget const&) = delete;
    ForcedTarget& operator=(ForcedTarget const&) = delete;
    ~ForcedTarget();
};

}  // namespace sinew::collectives::kernels
