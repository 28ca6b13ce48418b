// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "benchmarks/support/turns.hpp"

namespace sinew::bench {

std::unique_ptr<Contestant> make_ours(Case const& what, int workers);

/// Returns null if `name` is not a floor.
std::unique_ptr<Contestant> make_floor(std::string_view name, Case const& what, int workers);

/// Starts a Python program that serves until the result is destroyed, which ends all its processes.
/// Throws Unavailable, with how to install what is missing.
std::unique_ptr<Contestant> make_python(std::string_view peer, Case const& what, int workers);

}  // namespace sinew::bench
