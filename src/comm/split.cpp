// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "src/base/retained.hpp"
#include "src/base/text.hpp"
#include "src/comm/communicator_state.hpp"
#include "src/comm/node_layout.hpp"

namespace sinew::detail {

std::shared_ptr<CommunicatorState> CommunicatorState::split(std::optional<int> color, int key) {
    struct Choice {
        std::int32_t color;
        std::int32_t key;
        std::uint64_t lane;
    };
    auto const size = static_cast<std::size_t>(transport_->size());
    int const self = transport_->rank();
    std::vector<Choice> choices(size);
    choices[static_cast<std::size_t>(self)] = {color.value_or(-1), key, transport_->free_lane()};
    try {
        Buffer const all(choices.data(), size, DataType::opaque(sizeof(Choice)));
        // After this all ranks have arrived and know everything that the parts need. As a rule no
        // further message follows, so a rank that dies then does not block the others.
        Invocation const exchange{
            .collective = Collective::allgather, .in = all, .out = all, .in_place = true};
        if (color && *color < 0) {
            Refusal const refusal(text(detector_.self_text(), ": split: color ", *color,
                                       " (must not be negative). To join no part, call split_none"),
                                  true);
            run(exchange, &refusal);
        }
        run(exchange);
    } catch (...) {
        if (transport_->holds_cancelled_buffers()) retain_value_until_exit(std::move(choices));
        throw;
    }
    if (!color) return nullptr;

    std::vector<int> members;
    std::uint64_t lane = 0;
    for (int r = 0; r < transport_->size(); ++r) {
        Choice const& choice = choices[static_cast<std::size_t>(r)];
        if (choice.color != *color) continue;
        members.push_back(r);
        lane = std::max(lane, choice.lane);
    }
    std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
        return choices[static_cast<std::size_t>(a)].key < choices[static_cast<std::size_t>(b)].key;
    });
    // The allgather was the last collective of all members.
    return make_part(members, lane, text(log_.name(), '/', log_.entered(), '.', *color));
}

std::shared_ptr<CommunicatorState> CommunicatorState::make_part(std::vector<int> const& members,
                                                                std::uint64_t lane,
                                                                std::string name) {
    auto part = transport_->split(members, lane);
    NodeLayout nodes = restrict_node_layout(nodes_, members, part->rank());
    std::vector<Locality> localities;
    for (int const member : members)
        localities.push_back(localities_[static_cast<std::size_t>(member)]);
    auto state = std::make_shared<CommunicatorState>(std::move(part), std::move(nodes), engine_,
                                                     tuners_, settings_, std::move(localities),
                                                     arena_, std::move(name));
    state->log_.set_recorder(log_.recorder());
    return state;
}

}  // namespace sinew::detail
