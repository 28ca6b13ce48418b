// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

/// Which rank is on which node. The root of a job in pods writes it to its log each time it starts
/// the ranks, as nodes and how many of the next ranks each has:
/// {"rank_nodes":[["train-0",2],["train-2",2]]}.
class RankNodes {
public:
    int size() const { return static_cast<int>(nodes_.size()); }
    /// The name of the node that has this rank. Requires: 0 <= rank < size().
    std::string const& node_of(int rank) const { return nodes_.at(static_cast<std::size_t>(rank)); }

    /// The line, without newline.
    static std::string line(JobMap const& map);
    /// No value: another line, or one with more ranks than a job may have.
    static std::optional<RankNodes> parse(std::string_view line);

private:
    std::vector<std::string> nodes_;  ///< by rank
};

}  // namespace sinew::launch
