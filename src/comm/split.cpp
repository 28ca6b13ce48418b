// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/comm/communicator_state.hpp"
#include "src/comm/node_layout.hpp"

namespace sinew::detail {

std::shared_ptr<CommunicatorState> CommunicatorState::split(int color, int key) {
    struct Choice {
        std::int32_t color;
        std::int32_t key;
    };
    auto const size = static_cast<std::size_t>(transport_->size());
    int const self = transport_->rank();
    std::vector<Choice> choices(size);
    choices[static_cast<std::size_t>(self)] = {color, key};
    Buffer const all(choices.data(), size * 2, DataType::Kind::i32);
    // Everyone has arrived when this ends: the transport's own split needs no deadline.
    run(Invocation{.collective = Collective::allgather, .in = all, .out = all, .in_place = true});
    if (color < 0) return nullptr;

    std::vector<int> members;
    for (int r = 0; r < transport_->size(); ++r)
        if (choices[static_cast<std::size_t>(r)].color == color) members.push_back(r);
    std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
        return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
    });
    auto part = transport_->split(members);
    NodeLayout nodes = restrict_node_layout(nodes_, members, part->rank());
    return std::make_shared<CommunicatorState>(std::move(part), std::move(nodes), engine_,
                                               tuner_.model(), settings_);
}

}  // namespace sinew::detail
