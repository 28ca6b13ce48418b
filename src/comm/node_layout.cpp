// SPDX-License-Identifier: Apache-2.0
#include "src/comm/node_layout.hpp"

#include <map>

namespace sinew::detail {

namespace {

/// Numbers the nodes in the order of their first ranks.
template <class Key, class KeyOf, class HostOf>
NodeLayout number_nodes(int ranks, int self, KeyOf key_of, HostOf host_of) {
    NodeLayout layout;
    std::map<Key, int> numbers;
    for (int r = 0; r < ranks; ++r) {
        auto const [entry, fresh] = numbers.try_emplace(key_of(r), layout.nodes());
        if (fresh) layout.hosts.push_back(host_of(r));
        layout.node_of.push_back(entry->second);
    }
    layout.node = layout.node_of[static_cast<std::size_t>(self)];
    layout.local_size = 0;
    for (int r = 0; r < ranks; ++r) {
        if (layout.node_of[static_cast<std::size_t>(r)] != layout.node) continue;
        if (r < self) ++layout.local_rank;
        ++layout.local_size;
    }
    return layout;
}

}  // namespace

NodeLayout make_node_layout(std::span<NodeIdentity const> by_rank, int self) {
    auto const at = [&](int r) -> NodeIdentity const& {
        return by_rank[static_cast<std::size_t>(r)];
    };
    return number_nodes<std::string>(
        static_cast<int>(by_rank.size()), self, [&](int r) { return at(r).key_text(); },
        [&](int r) { return at(r).host_text(); });
}

NodeLayout restrict_node_layout(NodeLayout const& whole, std::span<int const> members, int self) {
    auto const member = [&](int r) { return members[static_cast<std::size_t>(r)]; };
    return number_nodes<int>(
        static_cast<int>(members.size()), self,
        [&](int r) { return whole.node_of[static_cast<std::size_t>(member(r))]; },
        [&](int r) { return whole.host_of(member(r)); });
}

}  // namespace sinew::detail
