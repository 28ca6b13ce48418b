// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "benchmarks/support/turns.hpp"

namespace sinew::bench {

/// `step` is the duration of a simulator's step, in the demos.
std::unique_ptr<Contestant> make_our_objects(Case const& what, int managers,
                                             std::chrono::microseconds step);

/// Returns sinew's demo with one call after the other if `name` is "sync", otherwise null.
std::unique_ptr<Contestant> make_our_lockstep(std::string_view name, Case const& what, int managers,
                                              std::chrono::microseconds step);

/// Starts a program that serves until the result is destroyed, which ends all its processes. Throws
/// Unavailable, with how to install what is missing.
std::unique_ptr<Contestant> make_call_peer(std::string_view peer, Case const& what, int managers,
                                           std::chrono::microseconds step);

}  // namespace sinew::bench
