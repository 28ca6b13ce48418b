// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "launchers/common/job.hpp"

namespace sinew::launch {

/// Parses "region/zone/block/rack". The last of fewer parts is the rack: "rack7", "block2/rack7".
/// Parts may be empty; blanks around all are ignored. Throws UsageError naming `origin` for more
/// than four parts, a part of more than 64 characters, or characters other than letters, digits and
/// ._-
Place parse_place(std::string_view words, std::string const& origin);

/// The place of this node, for --rank-order topology: SINEW_PLACE, else the first line of `file`;
/// empty if neither exists. Throws UsageError as parse_place does, and if `file` exists but cannot
/// be read.
Place place_of_this_node(std::string const& file = "/etc/sinew/place");

}  // namespace sinew::launch
