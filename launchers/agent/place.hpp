// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "launchers/common/job.hpp"

namespace sinew::launch {

/// "region/zone/block/rack". Of fewer parts the last is the rack: "rack7", "block2/rack7". Parts may be
/// empty, blanks around the whole do not count. Throws UsageError naming `origin` for more than four
/// parts, for one of more than 64 characters, and for characters other than letters, digits and ._-
Place parse_place(std::string_view words, std::string const& origin);

/// Where this node stands, for --rank-order topology: SINEW_PLACE, else the first line of the file
/// /etc/sinew/place; neither: nothing is known. Throws UsageError as parse_place, and for a file that is
/// there and cannot be read.
Place place_of_this_node(std::string const& file = "/etc/sinew/place");

}  // namespace sinew::launch
