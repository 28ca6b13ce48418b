// SPDX-License-Identifier: Apache-2.0
#include "src/ring/protocol.hpp"

#include <algorithm>
#include <sinew/task/encoding.hpp>

namespace sinew::ring {
namespace {

template <class... Values>
void put(Writer& writer, Values const&... values) {
    (encode(writer, values), ...);
}
template <class... Values>
void take(Reader& reader, Values&... values) {
    ((values = decode<Values>(reader)), ...);
}

void put_node(Writer& writer, RingNode const& node) {
    put(writer, node.rank, node.host, node.address, node.port, node.pid);
}
RingNode take_node(Reader& reader) {
    RingNode node;
    take(reader, node.rank, node.host, node.address, node.port, node.pid);
    return node;
}

}  // namespace

void Work::encode_to(Writer& writer) const {
    put(writer, target.value, init.value, has_init, target_state, init_state, arguments);
}
Work Work::decode_from(Reader& reader) {
    Work work;
    take(reader, work.target.value, work.init.value, work.has_init, work.target_state,
         work.init_state, work.arguments);
    return work;
}

void State::encode_to(Writer& writer) const { put(writer, type, value); }
State State::decode_from(Reader& reader) {
    State state;
    take(reader, state.type, state.value);
    return state;
}

void CommitFailure::encode_to(Writer& writer) const { put(writer, what, error_number); }
CommitFailure CommitFailure::decode_from(Reader& reader) {
    CommitFailure refusal;
    take(reader, refusal.what, refusal.error_number);
    return refusal;
}

void MemberOrder::encode_to(Writer& writer) const {
    put(writer, rank, size, epoch, name, listener, address, spans, work, commits, committed);
}
MemberOrder MemberOrder::decode_from(Reader& reader) {
    MemberOrder order;
    take(reader, order.rank, order.size, order.epoch, order.name, order.listener, order.address,
         order.spans, order.work, order.commits, order.committed);
    return order;
}

void Joined::encode_to(Writer& writer) const { put(writer, host, port, address, listener, remote); }
Joined Joined::decode_from(Reader& reader) {
    Joined joined;
    take(reader, joined.host, joined.port, joined.address, joined.listener, joined.remote);
    return joined;
}

void Table::encode_to(Writer& writer) const {
    put(writer, epoch, key, static_cast<std::uint32_t>(members.size()), listeners, remotes, nodes);
    for (auto const& node : members) put_node(writer, node);
}
Table Table::decode_from(Reader& reader) {
    Table table;
    std::uint32_t size = 0;
    take(reader, table.epoch, table.key, size, table.listeners, table.remotes, table.nodes);
    for (std::uint32_t i = 0; i < size; ++i) table.members.push_back(take_node(reader));
    int nodes = 0;  // numbered in the order of their first members
    bool sound = table.listeners.size() == size && table.remotes.size() == size &&
                 table.nodes.size() == size;
    for (std::size_t i = 0; sound && i < table.nodes.size(); ++i) {
        sound = table.nodes[i] >= 0 && table.nodes[i] <= nodes;
        nodes = std::max(nodes, table.nodes[i] + 1);
    }
    if (!sound) throw DecodeError("the table of a ring's members is inconsistent");
    return table;
}

}  // namespace sinew::ring
