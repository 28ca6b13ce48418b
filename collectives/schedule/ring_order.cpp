// SPDX-License-Identifier: Apache-2.0
#include "collectives/schedule/ring_order.hpp"

#include <algorithm>
#include <numeric>

namespace sinew::collectives {

RingOrder::RingOrder(std::span<int const> node_of) {
    if (std::is_sorted(node_of.begin(), node_of.end())) return;
    ranks_.resize(node_of.size());
    std::iota(ranks_.begin(), ranks_.end(), 0);
    auto const node = [&](int rank) { return node_of[static_cast<std::size_t>(rank)]; };
    std::stable_sort(ranks_.begin(), ranks_.end(), [&](int a, int b) { return node(a) < node(b); });
    positions_.resize(ranks_.size());
    for (std::size_t position = 0; position < ranks_.size(); ++position)
        positions_[static_cast<std::size_t>(ranks_[position])] = static_cast<int>(position);
}

}  // namespace sinew::collectives
