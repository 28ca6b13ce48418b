// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "launchers/backends/backend.hpp"

namespace sinew::launch {

/// Starts agents on this host, as children of `sinew run`: one, or one per node of --fake-nodes.
std::unique_ptr<Backend> make_local(RunOptions const& options);

}  // namespace sinew::launch
