// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launchers/backends/backend.hpp"

namespace sinew::launch {

/// For a root that runs in the first of a set of containers, of which each starts its own agent.
/// Starts only the agent of node 0, beside the root. It is not in the table of backends(), since it
/// needs a secret and a port that the containers were given with it (see JobRun::Arranged).
std::unique_ptr<Backend> make_pods();

}  // namespace sinew::launch
