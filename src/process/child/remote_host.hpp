// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <sinew/node.hpp>
#include <string>
#include <utility>

#include "src/process/child/child.hpp"

namespace sinew::process {

/// Another host that starts children for this process.
class RemoteHost {
public:
    virtual ~RemoteHost() = default;
    /// As process::start_child, on that host. Requires: guard held. Throws Unavailable if the host
    /// is lost; whether the child could be started is reported by its end.
    virtual std::unique_ptr<Child> start(ChildSpec const& spec) = 0;
    /// Requires: guard held.
    virtual bool lost() const = 0;
    virtual std::string const& name() const = 0;
};

struct NodeAccess {
    static Node make(std::shared_ptr<RemoteHost> remote) {
        Node node;
        node.remote_ = std::move(remote);
        return node;
    }
    static RemoteHost* remote(Node const& node) { return node.remote_.get(); }
};

/// Starts a child on that node. Requires: guard held. Throws what start_child(spec) and
/// RemoteHost::start throw.
std::unique_ptr<Child> start_child(Node const& node, ChildSpec const& spec);
/// Requires: guard held.
bool is_lost(Node const& node);

}  // namespace sinew::process
