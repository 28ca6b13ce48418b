// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace sinew::launch {

inline constexpr int root_node = -1;  ///< `sinew run` itself, the tree's root

/// The k-ary tree of the agents, as the root builds it: in the order of arrival. The first k become
/// the root's children; each later one is sent to the first that has room, which has arrived before
/// it, so that nobody waits for a parent. Depth is at most log_k N + 1. Pure.
///
/// Who comes back keeps its children. It may then hang below one that arrived later, never below
/// one of its own or one without a way to the root. Losses can make the tree deeper than that.
class TreeBuilder {
public:
    /// Throws UsageError unless fanout >= 1.
    explicit TreeBuilder(int fanout);
    /// The parent of `node`, new here or come back after having lost its parent. `unreachable` is
    /// one that it could not reach: chosen again only if there is no other.
    int place(int node, std::optional<int> unreachable = std::nullopt);
    /// A node that is gone for good; its children will come back for a new parent.
    void remove(int node);
    int fanout() const { return fanout_; }
    /// Nothing for a node that is not there, or waits for a new parent.
    std::optional<int> parent(int node) const;
    std::vector<int> children(int node) const;
    /// Links to the root: 1 for its children. -1 for a node that has no way to it.
    int depth(int node) const;
    /// This node, unless it is the root, and all below, in no order. For FenceNode::below.
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
