// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "benchmarks/support/turns.hpp"

namespace sinew::bench {

std::unique_ptr<Contestant> make_ours(Case const& what, int workers);

/// Null when it is a peer program (or nobody at all).
std::unique_ptr<Contestant> make_floor(std::string_view name, Case const& what, int workers);

/// A Python program that serves until this is destroyed, which leaves no process of it. Throws
/// Unavailable saying how to get what is missing.
std::unique_ptr<Contestant> make_python(std::string_view peer, Case const& what, int workers);

}  // namespace sinew::bench
