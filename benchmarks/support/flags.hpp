// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/program_options.hpp>
#include <optional>
#include <string>
#include <vector>

namespace sinew::bench {

/// The command line, into the variables that the flags name, too. Throws UsageError.
boost::program_options::variables_map parse_flags(
    int argc, char** argv, boost::program_options::options_description const& flags);

std::optional<int> optional_int(boost::program_options::variables_map const& given,
                                char const* flag);

/// "2,4": numbers from 1 to `most`. Throws UsageError.
std::vector<int> parse_counts(char const* flag, std::string const& list, int most);

/// Throw UsageError, "--rounds 0 (must be 1 to 100000)".
void require_within(char const* flag, int value, int least, int most);
void require_rounds(int rounds);
void require_seconds(double seconds);

}  // namespace sinew::bench
