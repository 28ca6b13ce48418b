// SPDX-License-Identifier: Apache-2.0
#include "src/process/guests.hpp"

#include <algorithm>
#include <utility>

#include "src/process/rpc/message.hpp"

namespace sinew::process {

std::unique_ptr<wire::Listener> listen_to_guests(wire::Loop& loop, wire::Address const& address,
                                                 wire::Credentials const& self, Peers& peers,
                                                 std::size_t memory) {
    bool const same_host = address.family == wire::Address::Family::unix_socket;
    auto options = peer_options(same_host);
    options.max_frame = largest_message_frame;  // guests send no larger frames
    return std::make_unique<wire::Listener>(
        loop, address, self, wire::Listener::Options{.link = options},
        [&peers, memory](std::unique_ptr<wire::Link> link) {
            peers.add(std::move(link), PeerTrust::inbound_client,
                      std::make_shared<MemoryBudget>(memory));
        });
}

std::string guest_address(wire::Address bound) {
    bool const v6 = bound.host == "::";
    if (!v6 && bound.host != "0.0.0.0") return bound.text();
    auto const all = wire::interfaces();  // loopback last
    auto const usual = std::find_if(all.begin(), all.end(), [v6](auto const& each) {
        return (each.address.find(':') != std::string::npos) == v6;
    });
    if (usual != all.end()) bound.host = usual->address;
    return bound.text();
}

}  // namespace sinew::process
