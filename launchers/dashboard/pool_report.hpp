// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "launchers/dashboard/state.hpp"

namespace sinew::launch::dashboard {

/// A line of what a program reports about one of its pools is at most so long
/// (src/pool/report/report_line.cpp).
inline constexpr std::size_t longest_report = std::size_t{32} << 10;

/// Parses such a line. Throws UsageError, which says what is wrong. The pid is the sender's word:
/// the caller replaces it by what the kernel says.
Pool parse_pool_report(std::string_view line);

}  // namespace sinew::launch::dashboard
