// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/child_links.hpp"

#include <utility>

#include "launchers/tree/fence_codec.hpp"
#include "launchers/tree/protocol.hpp"

namespace sinew::launch {

void ChildLinks::add(int child, std::unique_ptr<wire::Link> link) {
    children_[child] = {.link = std::move(link), .nodes = NodeSet({child})};
}

void ChildLinks::broadcast(std::uint8_t kind, std::span<std::byte const> message) {
    for (auto const& [child, below] : children_) below.link->send(kind, 0, {message});
}

void ChildLinks::send(FenceNode::Down const& down) {
    std::int32_t const to = everyone;
    auto const bytes = encode_down(down);
    for (int const child : down.children)
        if (auto const found = children_.find(child); found != children_.end())
            found->second.link->send(static_cast<std::uint8_t>(Kind::fence_down), 0,
                                     {bytes_of(to), bytes});
}

}  // namespace sinew::launch
