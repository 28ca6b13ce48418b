// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "benchmarks/support/case.hpp"

namespace sinew::bench {

/// The cases. In all of them, `workers` is the number of managers.
std::vector<Case> const& manager_cases();

/// Parse "sync,demo" or "all"; peers likewise. Throw UsageError with the nearest name.
std::vector<Case> parse_manager_cases(std::string const& list);
std::vector<std::string> manager_peers();
std::vector<std::string> parse_manager_peers(std::string const& list);

/// Returns a simulator case with this number of managers and of steps per simulator.
Case resized_demo(Case demo, int managers, int steps);
/// Whether the case has simulators whose steps need no processor.
inline bool is_device(Case const& what) { return what.name == "device"; }
inline bool is_demo(Case const& what) { return what.name == "demo" || is_device(what); }

}  // namespace sinew::bench
