// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/nodes/node_share.hpp"
#include "src/nodes/remote_node.hpp"
#include "src/process/child/remote_host.hpp"

namespace sinew::nodes {

/// One node: its resources, and the agent that starts children there (null: this process does).
class Member final : public process::RemoteHost {
public:
    Member(NodeShare share, std::shared_ptr<RemoteNode> agent, std::string id = {})
        : share_(std::move(share)), agent_(std::move(agent)), id_(std::move(id)) {}
    NodeShare const& share() const { return share_; }
    std::shared_ptr<RemoteNode> const& agent() const { return agent_; }
    /// The backend's name for it: "nodes-2". Of acquired nodes only.
    std::string const& id() const { return id_; }

    std::unique_ptr<process::Child> start(process::ChildSpec const& spec) override {
        return agent_ ? agent_->start(spec) : process::start_child(spec);
    }
    bool lost() const override { return agent_ && agent_->lost(); }
    std::string const& name() const override { return share_.host; }

private:
    NodeShare const share_;
    std::shared_ptr<RemoteNode> const agent_;
    std::string const id_;
};

/// The nodes that a process has. Those of a communicator stay in it when they are lost; acquired
/// ones (see Acquisition) come and go. Requires: guard held.
struct Roster {
    std::vector<std::shared_ptr<Member>> present;
    /// Are lost, but have children that may still run.
    std::vector<std::shared_ptr<Member>> ending;
    std::uint64_t changes = 0;
    std::string waiting_for;  ///< what the backend says about the others
    std::string failure;      ///< why no more nodes will come
    std::condition_variable changed;
    /// Are called after each change, on the loop's thread.
    std::map<std::uint64_t, std::function<void()>> watchers;
    std::uint64_t next_watcher = 1;

    /// After a change of `present` or `failure`.
    void tell() {
        changed.notify_all();
        auto const all = watchers;
        for (auto const& [number, watcher] : all)
            if (watchers.contains(number)) watcher();
    }
};

}  // namespace sinew::nodes
