// SPDX-License-Identifier: Apache-2.0
//
// Messages of fences come over authenticated links, but from a process that may misbehave: whatever
// they contain, they are decoded or refused, and the FenceNode keeps working.
#include <cstdint>
#include <cstdlib>

#include "launchers/tree/fence_codec.hpp"
#include "launchers/tree/tree.hpp"

namespace {

using namespace sinew::launch;

void expect(bool holds) {
    if (!holds) std::abort();
}

void check_up(std::span<std::byte const> bytes) {
    auto const up = decode_up(bytes);
    if (!up) return;
    auto const again = decode_up(encode_up(*up));
    expect(again && again->key == up->key && again->nodes == up->nodes &&
           again->parts == up->parts && again->error == up->error);
    expect(up->parts.size() + up->key.nodes.size() <= bytes.size());  // not more than the input
}

void check_down(std::span<std::byte const> bytes) {
    auto const down = decode_down(bytes);
    if (!down) return;
    auto const again = decode_down(encode_down(*down));
    expect(again && again->key == down->key && again->lost == down->lost &&
           again->error == down->error && again->parts.size() == down->parts.size());
}

/// Splits the input into messages: a byte for the sender, a byte for the length.
void play(FenceNode& node, std::span<std::byte const> input) {
    while (input.size() >= 2) {
        auto const who = std::to_integer<int>(input[0]);
        auto const size = std::min(std::to_integer<std::size_t>(input[1]), input.size() - 2);
        auto const message = input.subspan(2, size);
        input = input.subspan(2 + size);
        if (auto up = decode_up(message)) {
            if (who % 8 == 7) node.local(up->key, {});
            node.from_child(1 + who % 3, std::move(*up));
        }
        if (auto down = decode_down(message)) node.from_parent(std::move(*down));
        if (who == 200) node.child_gone(1);
        if (who == 201) node.parent_gone("gone");
        if (who == 202) node.parent_found();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
    auto const bytes = std::as_bytes(std::span(data, size));
    check_up(bytes);
    check_down(bytes);
    for (int const self : {0, root_node}) {
        FenceNode node(self);
        node.restart(1, NodeSet::range(0, 6));
        node.below(1, NodeSet({1, 3, 4}));
        node.below(2, NodeSet({2, 5}));
        play(node, bytes);
        expect(node.pending() <= size);
    }
    return 0;
}
