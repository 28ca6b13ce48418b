// SPDX-License-Identifier: Apache-2.0
#include "src/ring/protocol.hpp"

#include <algorithm>

namespace sinew::ring {

void Table::require_sound() const {
    auto const size = members.size();
    int count = 0;  // nodes are numbered in the order of their first members
    bool sound = listeners.size() == size && remotes.size() == size && nodes.size() == size;
    for (std::size_t i = 0; sound && i < size; ++i) {
        sound = nodes[i] >= 0 && nodes[i] <= count;
        count = std::max(count, nodes[i] + 1);
    }
    if (!sound) throw DecodeError("the table of a ring's members is inconsistent");
}

}  // namespace sinew::ring
