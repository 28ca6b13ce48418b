// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sinew::bench {

/// "8", "64K", "16M", "1G" (binary: K is 1024; "KiB" does as well) to bytes. UsageError otherwise.
std::size_t parse_size(std::string const& word);

/// "8,1K,64K", "8-64M" (every power of two from 8 B to 64 MiB) or both mixed; sorted, each once.
std::vector<std::size_t> parse_sizes(std::string const& list);

/// 65536 to "64K"; 100 to "100".
std::string format_size(std::size_t bytes);

/// "200mbit", "10gbit" (decimal, as tc writes it) or a plain number, to bits per second.
double parse_rate(std::string const& word);

}  // namespace sinew::bench
