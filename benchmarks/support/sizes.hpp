// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sinew::bench {

/// Parses "8", "64K", "16M", "1G" (K is 1024, as is KiB) as bytes. Throws UsageError.
std::size_t parse_size(std::string const& word);

/// Parses "8,1K,64K", "8-64M" (powers of two from 8 B to 64 MiB) or both; sorted, without repeats.
std::vector<std::size_t> parse_sizes(std::string const& list);

/// Formats 65536 as "64K" and 100 as "100".
std::string format_size(std::size_t bytes);

/// Parses "200mbit", "10gbit" (decimal) or a number, as bits per second. Throws UsageError.
double parse_rate(std::string const& word);

}  // namespace sinew::bench
