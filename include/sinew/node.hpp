// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

namespace sinew {

namespace process {
class RemoteHost;
struct NodeAccess;
}  // namespace process

/// Where a process is started: on this host, or on another node of a job (see Nodes). A value; the
/// agent on that node works as long as a Node names it.
class Node {
public:
    Node() = default;  ///< this process's own
    bool is_here() const { return remote_ == nullptr; }
    /// The name of the host.
    std::string host() const;

private:
    friend struct process::NodeAccess;
    std::shared_ptr<process::RemoteHost> remote_;
};

}  // namespace sinew
