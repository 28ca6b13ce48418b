// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "src/nodes/protocol.hpp"

namespace sinew::nodes {

class RemoteChild;

/// Another node as seen by rank 0, through its agent. With the runtime's guard held.
///
/// When its link ends, for whatever reason, all its children count as ended: the agent kills them
/// when it notices, and if the network is cut they end when their lease expires.
class RemoteNode : public std::enable_shared_from_this<RemoteNode> {
public:
    RemoteNode(std::unique_ptr<wire::Link> link, std::string host);
    RemoteNode(RemoteNode const&) = delete;
    ~RemoteNode();
    void begin();

    bool lost() const { return link_ == nullptr; }
    std::string const& why_lost() const { return why_lost_; }
    std::string const& host() const { return host_; }
    /// Throws Unavailable if the node is lost. Whether the child could be started is reported by
    /// its end.
    std::unique_ptr<process::Child> start(process::ChildSpec const& spec);
    /// Nobody needs the agent any more.
    void over();

private:
    friend class RemoteChild;
    wire::Flow send(MessageKind word, Head head,
                    std::initializer_list<std::span<std::byte const>> parts = {});
    void flush();
    void on_message(wire::Message const& message);
    void on_end(std::string const& why);

    std::unique_ptr<wire::Link> link_;
    std::string const host_;
    std::string why_lost_;
    std::map<std::uint64_t, RemoteChild*> children_;
    std::uint64_t next_child_ = 1;
};

}  // namespace sinew::nodes
