// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/tree.hpp"

#include <sinew/error.hpp>

#include "src/base/text.hpp"

namespace sinew::launch {

TreeBuilder::TreeBuilder(int fanout) : fanout_(fanout) {
    if (fanout < 1)
        throw UsageError(
            text("the fanout of the agents' tree is ", fanout, " (must be at least 1). Use 32"));
    arrival_[root_node] = arrivals_++;
    set_room(root_node);
}

int TreeBuilder::place(int node, std::optional<int> unreachable) {
    if (node == root_node)
        throw UsageError(text("node ", node,
                              " is the root of the tree (it has no parent). "
                              "Number the agents from 0"));
    if (arrival_.try_emplace(node, arrivals_).second) ++arrivals_;
    // Without a parent this node and all below it have no path to the root: they are not
    // candidates, and no cycle can arise.
    detach(node);
    int const parent = find_room(unreachable);
    parent_[node] = parent;
    children_[parent].insert(node);
    set_room(parent);
    set_room(node);
    return parent;
}

// Returns the earliest arrival with room among the connected nodes. There always is one, since the
// last node of any path down from the root has no children.
int TreeBuilder::find_room(std::optional<int> unreachable) const {
    for (auto const& [arrival, candidate] : with_room_)
        if (depth(candidate) >= 0 && candidate != unreachable) return candidate;
    return *unreachable;  // the only one with room
}

void TreeBuilder::remove(int node) {
    if (node == root_node || !arrival_.contains(node)) return;
    detach(node);
    for (int const child : children(node)) parent_.erase(child);
    children_.erase(node);
    with_room_.erase({arrival_.at(node), node});
    arrival_.erase(node);
}

void TreeBuilder::detach(int node) {
    auto const found = parent_.find(node);
    if (found == parent_.end()) return;
    int const parent = found->second;
    parent_.erase(found);
    children_.at(parent).erase(node);
    set_room(parent);
}

void TreeBuilder::set_room(int node) {
    auto const found = children_.find(node);
    bool const room = found == children_.end() || found->second.size() < std::size_t(fanout_);
    if (room) with_room_.insert({arrival_.at(node), node});
    else with_room_.erase({arrival_.at(node), node});
}

std::optional<int> TreeBuilder::parent(int node) const {
    auto const found = parent_.find(node);
    if (found == parent_.end()) return std::nullopt;
    return found->second;
}

std::vector<int> TreeBuilder::children(int node) const {
    auto const found = children_.find(node);
    if (found == children_.end()) return {};
    return {found->second.begin(), found->second.end()};
}

int TreeBuilder::depth(int node) const {
    int links = 0;
    for (; node != root_node; ++links) {
        auto const found = parent_.find(node);
        if (found == parent_.end()) return -1;
        node = found->second;
    }
    return links;
}

std::vector<int> TreeBuilder::subtree(int node) const {
    std::vector<int> found{node};
    for (std::size_t i = 0; i < found.size(); ++i) {
        auto const below = children(found[i]);
        found.insert(found.end(), below.begin(), below.end());
    }
    if (node == root_node) found.erase(found.begin());
    return found;
}

}  // namespace sinew::launch
