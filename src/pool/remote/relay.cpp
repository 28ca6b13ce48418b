// SPDX-License-Identifier: Apache-2.0
#include "src/pool/remote/relay.hpp"

#include <utility>

namespace sinew::pool {

wire::LinkOptions relay_options() {
    return {.max_frame = (std::size_t{1} << 30) + (std::size_t{2} << 20),
            .high_water = relay_piece,
            .low_water = relay_piece / 2};
}

void send_relayed(wire::Link* link, Relay kind,
                  std::initializer_list<std::span<std::byte const>> parts, bool& full) {
    if (link == nullptr) return;
    if (link->send(static_cast<std::uint8_t>(kind), 0, parts) == wire::Flow::full) full = true;
}

void close_in_order(std::unique_ptr<wire::Link> link) {
    auto const held = std::make_shared<std::unique_ptr<wire::Link>>(std::move(link));
    (*held)->on({.message = [](auto const&) {}, .end = [held](auto const&) { held->reset(); }});
    (*held)->flush();
    (*held)->close();
}

}  // namespace sinew::pool
