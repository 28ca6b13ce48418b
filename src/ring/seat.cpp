// SPDX-License-Identifier: Apache-2.0
#include "src/ring/seat.hpp"

#include <memory>
#include <utility>

#include "src/comm/join.hpp"
#include "src/transport/socket_transport.hpp"
#include "src/wire/sockets.hpp"
#include "src/world/node_identity.hpp"
#include "src/world/socket_mesh.hpp"

namespace sinew::ring {

Seat::Seat(std::string const& path)
    : listener(wire::listening_socket(wire::Address::unix_socket(path))) {}

Joined Seat::joined() const { return {NodeIdentity::mine().host_text(), port.number()}; }

Communicator meet(Table const& table, int rank, UniqueFd listener) {
    WorldFile world{"ring",
                    static_cast<std::uint32_t>(table.epoch),
                    wire::Secret::from_hex(table.key),
                    {table.members.front().host},
                    {}};
    for (auto const& path : table.listeners)
        world.ranks.push_back({.node = 0,
                               .local_rank = static_cast<int>(world.ranks.size()),
                               .local = wire::Address::unix_socket(path),
                               .remote = {}});
    std::vector<UniqueFd> listeners;
    listeners.push_back(std::move(listener));
    auto mesh = std::make_unique<SocketMesh>(std::move(world), rank, std::move(listeners));
    return Communicator(detail::join(std::make_unique<SocketTransport>(std::move(mesh)),
                                     detail::Engine::make(Threading::any), NodeIdentity::mine(),
                                     detail::CommonSettings::from_environment()));
}

}  // namespace sinew::ring
