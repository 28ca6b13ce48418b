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

/// How processes of a session are linked. Within one host a process that is gone shows by its
/// sockets, and one that is stopped is not dead; over the network silence must tell.
wire::LinkOptions peer_options(bool same_host);

/// The links of this process to others of its session, each kept under the address it was dialled at,
/// and the services that answer.
class Peers {
public:
    Peers(wire::Loop& loop, wire::Credentials credentials, std::string host);
    Peers(Peers const&) = delete;
    ~Peers();

    void serve(Service service) { services_.push_back(std::move(service)); }
    /// Somebody has dialled us. `budget`: see Peer.
    void add(std::unique_ptr<wire::Link> link, PeerTrust trust,
             std::shared_ptr<MemoryBudget> budget = nullptr);
    /// `origin`: see Runtime::peer.
    std::shared_ptr<Peer> find_or_dial(std::string const& host,
                                       std::vector<std::string> const& addresses,
                                       std::uint64_t origin);
    /// A process of another session, with the key that it has for guests.
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
    std::deque<Service> services_;  ///< only grows; stays where it is, also within a call
    std::map<std::string, std::shared_ptr<LinkedPeer>> dialled_;
    std::set<std::shared_ptr<LinkedPeer>> accepted_;
    std::set<unsigned> unknown_kinds_;  ///< reported
};

}  // namespace sinew::process
