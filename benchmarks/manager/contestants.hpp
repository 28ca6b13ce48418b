// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <memory>
#include <string_view>

#include "benchmarks/support/turns.hpp"

namespace sinew::bench {

/// `step`: how long a simulator's step takes, in the demos.
std::unique_ptr<Contestant> make_our_objects(Case const& what, int managers,
                                             std::chrono::microseconds step);

/// Our demo with one call after the other, for "sync"; else null.
std::unique_ptr<Contestant> make_our_lockstep(std::string_view name, Case const& what, int managers,
                                              std::chrono::microseconds step);

/// A program that serves until this is destroyed, which leaves no process of it. Throws Unavailable
/// saying how to get what is missing.
std::unique_ptr<Contestant> make_call_peer(std::string_view peer, Case const& what, int managers,
                                           std::chrono::microseconds step);

}  // namespace sinew::bench
