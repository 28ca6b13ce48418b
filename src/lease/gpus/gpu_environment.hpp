// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "src/lease/gpus/gpu_inventory.hpp"

namespace sinew::lease {

using Variables = std::map<std::string, std::string>;

/// The variables of Lease::environment(). Without GPUs there are none.
Variables gpu_variables(std::vector<Gpu> const& gpus);

/// Throws UsageError if the variables of this process are those of a lease of another one: a lease of
/// the same GPUs would wait for that process, which probably waits for this one.
void refuse_leased_gpus();

/// Throws UsageError if CUDA has been initialised here: it reads its variables only once.
void refuse_if_cuda_has_begun();

/// Variables that are set in this process. Not thread-safe, as setenv() is not.
class SetVariables {
public:
    SetVariables() = default;
    explicit SetVariables(Variables const& variables);
    /// Gives them their former values back.
    void restore() noexcept;

private:
    std::map<std::string, std::optional<std::string>> former_;
};

}  // namespace sinew::lease
