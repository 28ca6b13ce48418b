// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "src/nodes/protocol.hpp"
#include "src/nodes/round_robin_sender.hpp"

namespace sinew::nodes {

class RemoteChild;

/// Another node as seen by rank 0, through its agent. Requires: runtime's guard held.
///
/// When its link ends, for whatever reason, its children may still run: the agent kills them when
/// it notices, and if the network is cut they end when their lease expires. Until then they count
/// as suspect, and afterwards as ended. No message of theirs is received meanwhile.
class RemoteNode : public std::enable_shared_from_this<RemoteNode> {
public:
    RemoteNode(wire::Loop& loop, std::unique_ptr<wire::Link> link, std::string host);
    RemoteNode(RemoteNode const&) = delete;
    ~RemoteNode();
    void begin();

    bool lost() const { return sender_.link() == nullptr; }
    std::string const& host() const { return host_; }
    /// Throws Unavailable if the node is lost. Whether the child could be started is reported by
    /// its end.
    std::unique_ptr<process::Child> start(process::ChildSpec const& spec);
    /// Releases the agent, which is no longer needed.
    void over();

private:
    friend class RemoteChild;
    void forget(std::uint64_t child);
    void on_message(wire::Message const& message);
    void on_ended(RemoteChild& child, std::span<std::byte const> body);
    void grant(Head const& asked);
    void on_liveness(bool suspect);
    void on_end(std::string const& why);
    void report_dead(std::string const& why);

    wire::Loop& loop_;
    RoundRobinSender sender_;
    std::string const host_;
    std::string why_lost_;
    std::map<std::uint64_t, RemoteChild*> children_;
    std::uint64_t next_child_ = 1;
    wire::Clock::time_point granted_;  ///< when the last lease was granted, or the link accepted
    wire::Loop::Handle lease_over_;
};

}  // namespace sinew::nodes
