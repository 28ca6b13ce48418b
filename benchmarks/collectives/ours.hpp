// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <sinew/communicator.hpp>
#include <string>

#include "benchmarks/collectives/workload.hpp"

namespace sinew::bench {

/// Returns a call of sinew that does the work of `load` with one algorithm; "auto" lets the tuner
/// choose. `nonblocking`: begins the call and waits for it at once. `comm` and `load` must outlive the function.
std::function<void()> bind_ours(Communicator& comm, Workload const& load,
                                std::string const& algorithm, bool nonblocking = false);

}  // namespace sinew::bench
