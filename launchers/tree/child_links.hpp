// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "launchers/tree/fence.hpp"
#include "launchers/tree/node_set.hpp"
#include "src/wire/link.hpp"

namespace sinew::launch {

/// The links of a node of the tree (the root or an agent) to its children.
class ChildLinks {
public:
    struct Child {
        std::unique_ptr<wire::Link> link;
        /// The child and all nodes below it, as its agent has reported. The root has a TreeBuilder
        /// for that.
        NodeSet nodes;
    };

    bool empty() const { return children_.empty(); }
    bool contains(int child) const { return children_.contains(child); }
    Child& at(int child) { return children_.at(child); }
    void add(int child, std::unique_ptr<wire::Link> link);
    void remove(int child) { children_.erase(child); }
    auto begin() { return children_.begin(); }
    auto end() { return children_.end(); }
    void broadcast(std::uint8_t kind, std::span<std::byte const> message);
    /// Sends the result of a fence to the children that wait for it.
    void send(FenceNode::Down const& down);

private:
    std::map<int, Child> children_;
};

}  // namespace sinew::launch
