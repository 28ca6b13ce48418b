// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
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
    /// `id`: of an acquired node, for messages.
    RemoteNode(wire::Loop& loop, std::unique_ptr<wire::Link> link, std::string host,
               std::string const& id = {});
    RemoteNode(RemoteNode const&) = delete;
    ~RemoteNode();
    void begin();
    /// Answers an agent that has joined: from now on it may be told to start children.
    void greet();

    /// No child can be started there any more.
    bool lost() const { return leaving_ || cut_off(); }
    /// It is lost, and all its children have been reported to have ended.
    bool empty() const { return cut_off() && children_.empty(); }
    /// Its agent has announced that it ends.
    bool leaving() const { return leaving_; }
    std::size_t children() const { return children_.size(); }
    std::string const& host() const { return host_; }
    /// Is called when it becomes lost, and when it becomes empty then.
    void on_change(std::function<void()> changed) { changed_ = std::move(changed); }
    /// Throws Unavailable if the node is lost. Whether the child could be started is reported by
    /// its end.
    std::unique_ptr<process::Child> start(process::ChildSpec const& spec);
    /// Releases the agent, which is no longer needed.
    void over();
    /// Its agent and all children have certainly ended: reports them without waiting for the end of
    /// the lease.
    void confirm_end(std::string const& why);

private:
    friend class RemoteChild;
    void forget(std::uint64_t child);
    void on_message(wire::Message const& message);
    void on_ended(RemoteChild& child, std::span<std::byte const> body);
    void grant(Head const& asked);
    void on_liveness(bool suspect);
    void on_end(std::string const& why);
    void report_dead(std::string const& why);
    bool cut_off() const { return sender_.link() == nullptr; }
    void tell_change();

    wire::Loop& loop_;
    RoundRobinSender sender_;
    std::string const host_;
    std::string const name_;  ///< for messages
    std::string why_lost_;
    std::map<std::uint64_t, RemoteChild*> children_;
    std::uint64_t next_child_ = 1;
    wire::Clock::time_point granted_;  ///< when the last lease was granted, or the link accepted
    wire::Loop::Handle lease_over_;
    bool leaving_ = false;
    std::function<void()> changed_;
};

}  // namespace sinew::nodes
