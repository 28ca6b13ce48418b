// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/process/runtime.hpp"

namespace sinew::process {

/// Options of the links between processes of a session. On one host, a dead process is noticed by
/// its sockets, and a stopped one is not dead; over the network, silence counts as death.
wire::LinkOptions peer_options(bool same_host);

/// The links of this process to others of its session, each kept under the address at which it was
/// dialed, and the services that receive their messages.
class Peers {
public:
    Peers(wire::Loop& loop, wire::Credentials credentials, std::string host);
    Peers(Peers const&) = delete;
    ~Peers();

    void serve(Service service) { services_.push_back(std::move(service)); }
    /// Adds a link that another process has opened. `budget`: see Peer.
    void add(std::unique_ptr<wire::Link> link, PeerTrust trust,
             std::shared_ptr<MemoryBudget> budget = nullptr);
    /// `origin`: see Runtime::peer.
    std::shared_ptr<Peer> find_or_dial(std::string const& host,
                                       std::vector<std::string> const& addresses,
                                       std::uint64_t origin);
    /// Connects to a process of another session, with the key for its guests.
    std::shared_ptr<Peer> find_or_dial_host(wire::Address const& address, wire::Secret const& key,
                                            std::chrono::nanoseconds patience);

private:
    class LinkedPeer;
    friend class LinkedPeer;
    void deliver(std::shared_ptr<LinkedPeer> const& peer, wire::Message const& message);
    void tell_drained(std::shared_ptr<LinkedPeer> const& peer);
    void forget(std::shared_ptr<LinkedPeer> const& peer, std::string const& why);
    std::vector<wire::Address> usable(std::string const& host,
                                      std::vector<std::string> const& addresses) const;

    wire::Loop& loop_;
    wire::Credentials const credentials_;
    std::string const host_;
    std::deque<Service>
        services_;  ///< only grows; elements keep their addresses, also during a call
    std::map<std::string, std::shared_ptr<LinkedPeer>> dialled_;
    std::set<std::shared_ptr<LinkedPeer>> accepted_;
    std::set<unsigned> unknown_kinds_;  ///< warned about already
};

}  // namespace sinew::process
