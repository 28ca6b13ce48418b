// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gloo/context.h>

#include <functional>
#include <memory>
#include <string>

#include "benchmarks/collectives/workload.hpp"

namespace sinew::bench {

/// Returns a call of an allreduce. `algorithm` is ring_chunked, halving_doubling or bcube of the
/// older interface, which works in place (the call then includes a copy of the input), or empty for
/// the newer one. Returns an empty function for types and operations that Gloo does not have.
std::function<void()> bind_gloo_allreduce(std::shared_ptr<gloo::Context> const& context,
                                          Workload const& load, std::string const& algorithm);

std::function<void()> bind_gloo_reduce(std::shared_ptr<gloo::Context> const& context,
                                       Workload const& load);

}  // namespace sinew::bench
