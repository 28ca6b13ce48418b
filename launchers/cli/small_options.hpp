// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace sinew::launch {

/// Parses the flags of the small commands (info, doctor). Throws UsageError for an unknown flag,
/// with the nearest known one, and for words that are not flags.
boost::program_options::variables_map parse_small(
    std::vector<std::string> const& arguments,
    boost::program_options::options_description const& flags, std::string const& command);

}  // namespace sinew::launch
