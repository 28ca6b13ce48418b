// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::collectives::kernels {

/// The instruction sets that this machine has and the kernels were compiled for, best first: "AVX3"
/// (AVX-512), "AVX2", "NEON"; "SCALAR" or "EMU128" is portable C++.
std::vector<std::string> targets();

/// While it exists, new Reducers, widen, narrow and Completion use this instruction set. It is
/// for tests and benchmarks: it affects the whole process and is not thread-safe.
class ForcedTarget {
public:
    /// Throws UsageError if `targets` does not list `name`.
    explicit ForcedTarget(std::string const& name);
    ForcedTarget(ForcedTarget const&) = delete;
    ForcedTarget& operator=(ForcedTarget const&) = delete;
    ~ForcedTarget();
};

}  // namespace sinew::collectives::kernels
