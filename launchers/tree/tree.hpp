// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace sinew::launch {

inline constexpr int root_node = -1;  ///< `sinew run` itself, the tree's root

/// The k-ary tree of the agents, which the root builds in the order of arrival. The first k become
/// the root's children; each later one is placed below the first with room, which has arrived
/// before it, so that no agent waits for a parent. Depth is at most log_k N + 1. Pure.
///
/// An agent that returns keeps its children. It may be placed below a later arrival, but never
/// below its own descendants or a node without a path to the root. Losses can make the tree deeper.
class TreeBuilder {
public:
    /// Throws UsageError unless fanout >= 1.
    explicit TreeBuilder(int fanout);
    /// Returns the parent for `node`, new or returning. `unreachable` is a parent that it could not
    /// reach, chosen again only if no other has room. Throws UsageError for the root.
    int place(int node, std::optional<int> unreachable = std::nullopt);
    /// Removes a node for good; its children will ask for a new parent.
    void remove(int node);
    int fanout() const { return fanout_; }
    /// The parent; nullopt if the node is not in the tree or waits for a new parent.
    std::optional<int> parent(int node) const;
    std::vector<int> children(int node) const;
    /// The number of links to the root: 1 for its children; -1 if there is no path to it.
    int depth(int node) const;
    /// This node, unless it is the root, and all below, unordered. For FenceNode::below.
    std::vector<int> subtree(int node) const;

private:
    int find_room(std::optional<int> unreachable) const;
    void detach(int node);
    void set_room(int node);

    int fanout_;
    std::map<int, int> parent_;
    std::map<int, std::set<int>> children_;
    std::set<std::pair<std::uint64_t, int>> with_room_;  ///< by arrival
    std::map<int, std::uint64_t> arrival_;
    std::uint64_t arrivals_ = 0;
};

}  // namespace sinew::launch
