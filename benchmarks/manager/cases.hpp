// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "benchmarks/support/case.hpp"

namespace sinew::bench {

/// In all, `workers` is the number of managers.
std::vector<Case> const& manager_cases();

/// "sync,demo" or "all", and the same of peers: UsageError names the nearest.
std::vector<Case> parse_manager_cases(std::string const& list);
std::vector<std::string> manager_peers();
std::vector<std::string> parse_manager_peers(std::string const& list);

/// A case of the simulators, with so many managers and steps of each.
Case resized_demo(Case demo, int managers, int steps);
/// Of simulators that need no processor for their steps.
inline bool is_device(Case const& what) { return what.name == "device"; }
inline bool is_demo(Case const& what) { return what.name == "demo" || is_device(what); }

}  // namespace sinew::bench
