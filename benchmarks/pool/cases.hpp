// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "benchmarks/support/case.hpp"

namespace sinew::bench {

std::vector<Case> const& all_cases();
/// Parses "noop-map,apply" or "all", in the table's order. Throws UsageError with the nearest name.
std::vector<Case> parse_cases(std::string const& list);

/// Names of peers that are separate programs. Floors are always available, as we compute them.
std::vector<std::string> peer_programs();
std::vector<std::string> parse_peers(std::string const& list);

}  // namespace sinew::bench
