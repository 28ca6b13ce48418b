// SPDX-License-Identifier: Apache-2.0
#include "src/ring/member_endpoints.hpp"

#include <memory>
#include <optional>
#include <utility>

#include "src/base/text.hpp"
#include "src/comm/join.hpp"
#include "src/process/runtime.hpp"
#include "src/transport/socket_transport.hpp"
#include "src/wire/socket/sockets.hpp"
#include "src/world/node_identity.hpp"
#include "src/world/socket_mesh.hpp"

namespace sinew::ring {

MemberEndpoints::MemberEndpoints(MemberOrder const& order) {
    using process::Runtime;
    auto const& network = Runtime::inherited_network();
    joined_.host = NodeIdentity::mine().host_text();
    joined_.address = !order.address.empty() ? order.address
                      : network.empty()      ? "127.0.0.1"
                                             : network;
    joined_.listener = order.listener.starts_with('/')
                           ? order.listener
                           : text(Runtime::inherited_folder(), '/', order.listener);
    joined_.port = port.number();
    listeners.push_back(wire::listening_socket(wire::Address::unix_socket(joined_.listener)));
    if (!order.spans) return;
    auto remote = wire::Address::tcp(joined_.address, 0);
    listeners.push_back(wire::listening_socket(remote));
    remote.port = wire::bound_port(listeners.back().get());
    joined_.remote = remote.text();
}

Communicator meet(Table const& table, int rank, std::vector<UniqueFd> listeners) {
    WorldFile world{
        "ring", static_cast<std::uint32_t>(table.epoch), wire::Secret::from_hex(table.key), {}, {}};
    std::vector<int> ranks_of;  // by node, so far
    for (std::size_t each = 0; each < table.listeners.size(); ++each) {
        auto const node = static_cast<std::size_t>(table.nodes[each]);
        if (node == world.nodes.size()) {
            world.nodes.push_back(table.members[each].host);
            ranks_of.push_back(0);
        }
        auto const& remote = table.remotes[each];
        world.ranks.push_back({.node = table.nodes[each],
                               .local_rank = ranks_of[node]++,
                               .local = wire::Address::unix_socket(table.listeners[each]),
                               .remote = remote.empty()
                                             ? std::nullopt
                                             : std::optional(wire::Address::parse(remote))});
    }
    auto mesh = std::make_unique<SocketMesh>(std::move(world), rank, std::move(listeners));
    return Communicator(detail::join(std::make_unique<SocketTransport>(std::move(mesh)),
                                     detail::Engine::make(Threading::any), NodeIdentity::mine(),
                                     detail::CommonSettings::from_environment(), "ring"));
}

}  // namespace sinew::ring
