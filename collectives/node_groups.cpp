// SPDX-License-Identifier: Apache-2.0
#include "collectives/node_groups.hpp"

#include <algorithm>
#include <numeric>

namespace sinew::collectives {

NodeGroups::NodeGroups(std::span<int const> node_of, int self)
    : node_of_(node_of.begin(), node_of.end()), index_of_(node_of.size()),
      by_node_(node_of.size()) {
    auto const nodes = static_cast<std::size_t>(*std::ranges::max_element(node_of_)) + 1;
    std::vector<int> counts(nodes);
    for (std::size_t r = 0; r < node_of_.size(); ++r)
        index_of_[r] = counts[static_cast<std::size_t>(node_of_[r])]++;
    first_.assign(nodes + 1, 0);
    std::inclusive_scan(counts.begin(), counts.end(), first_.begin() + 1, std::plus<>{},
                        std::size_t{0});
    lanes_ = *std::ranges::min_element(counts);
    fullest_ = *std::ranges::max_element(counts);
    by_lane_.resize(static_cast<std::size_t>(lanes_) * nodes);
    for (std::size_t r = 0; r < node_of_.size(); ++r) {
        auto const node = static_cast<std::size_t>(node_of_[r]);
        auto const index = static_cast<std::size_t>(index_of_[r]);
        by_node_[first_[node] + index] = static_cast<int>(r);
        if (index_of_[r] < lanes_) by_lane_[index * nodes + node] = static_cast<int>(r);
    }
    node_ = node_of_[static_cast<std::size_t>(self)];
    local_rank_ = index_of_[static_cast<std::size_t>(self)];
}

}  // namespace sinew::collectives
