// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/backends/backend.hpp"

namespace sinew::launch {

/// Agents in containers of this host's engine, one each: `sinew container`, and in it `sinew agent`.
std::unique_ptr<Backend> make_docker(RunOptions const& options);
std::string docker_unusable(RunOptions const& options);

}  // namespace sinew::launch
