// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

/// The names of the first few nodes, for messages: "a, b, c, ...".
inline std::string node_names(std::vector<Node> const& nodes) {
    constexpr std::size_t enough = 8;
    std::string list;
    for (std::size_t i = 0; i < std::min(nodes.size(), enough); ++i)
        list += (i == 0 ? "" : ", ") + nodes[i].name;
    return nodes.size() > enough ? list + ", ..." : list;
}

}  // namespace sinew::launch
