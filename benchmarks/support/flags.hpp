// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/program_options.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace sinew::bench {

/// Parses the command line, also into the variables that the flags refer to. Throws UsageError.
boost::program_options::variables_map parse_flags(
    int argc, char** argv, boost::program_options::options_description const& flags);

std::optional<int> optional_int(boost::program_options::variables_map const& given,
                                char const* flag);

/// Parses "2,4": numbers from 1 to `most`. Throws UsageError.
std::vector<int> parse_counts(char const* flag, std::string const& list, int most);

/// Throw UsageError if the value is out of range: "--rounds 0 (must be 1 to 100000)".
void require_within(char const* flag, std::int64_t value, std::int64_t least, std::int64_t most);
void require_rounds(int rounds);
void require_seconds(double seconds);

}  // namespace sinew::bench
