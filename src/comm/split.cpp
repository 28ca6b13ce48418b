// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/node_layout.hpp"

namespace sinew::detail {

std::shared_ptr<CommunicatorState> CommunicatorState::split(std::optional<int> color, int key) {
    struct Choice {
        std::int32_t color;
        std::int32_t key;
    };
    auto const size = static_cast<std::size_t>(transport_->size());
    int const self = transport_->rank();
    std::vector<Choice> choices(size);
    choices[static_cast<std::size_t>(self)] = {color.value_or(-1), key};
    Buffer const all(choices.data(), size * 2, DataType::Kind::i32);
    // Everyone has arrived when this ends: the transport's own split needs no deadline.
    Invocation const exchange{
        .collective = Collective::allgather, .in = all, .out = all, .in_place = true};
    if (color && *color < 0) {
        Refusal const refusal(text(watch_.self_text(), ": split: color ", *color,
                                   " (must not be negative). To join no part, call split_none"),
                              true);
        run(exchange, &refusal);
    }
    run(exchange);
    if (!color) return nullptr;

    std::vector<int> members;
    for (int r = 0; r < transport_->size(); ++r)
        if (choices[static_cast<std::size_t>(r)].color == *color) members.push_back(r);
    std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
        return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
    });
    auto part = transport_->split(members);
    NodeLayout nodes = restrict_node_layout(nodes_, members, part->rank());
    return std::make_shared<CommunicatorState>(std::move(part), std::move(nodes), engine_,
                                               tuner_.model(), settings_);
}

}  // namespace sinew::detail
