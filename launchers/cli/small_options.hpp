// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace sinew::launch {

/// Parses the flags of the small commands (info, doctor, ps). Throws UsageError for an unknown
/// flag, with the nearest known one, and for words that are not flags, unless `words` names the
/// option (of type vector of strings) that takes them.
boost::program_options::variables_map parse_small(
    std::vector<std::string> const& arguments,
    boost::program_options::options_description const& flags, std::string const& command,
    std::string const& words = {});

}  // namespace sinew::launch
