// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "launchers/agent/node_job.hpp"
#include "launchers/tree/fence.hpp"
#include "launchers/tree/protocol.hpp"
#include "src/base/job_folder.hpp"
#include "src/wire/link.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// The agent of one node: connects to the root, takes its place in the tree, runs this node's part
/// of the job and forwards messages for the nodes below. Ends its ranks however the root ends.
class Agent : public Uplink {
public:
    Agent(wire::Loop& loop, AgentConfig config, JobFolder const& folder);
    ~Agent() override;

    /// Runs until the job is over or lost; returns the exit code.
    int run();
    /// Handles SIGTERM, a planned leave: notifies the root, which ends or restarts the job.
    void leave();
    /// Ends the ranks at once; logs `why` and sends it to the root.
    void give_up(std::string const& why);

private:
    struct Child {
        std::unique_ptr<wire::Link> link;
        NodeSet nodes;  ///< the child and all nodes below it
    };
    struct Pending {
        Kind kind;
        std::string bytes;
    };

    // Messages to the parent and to the root.
    void dial_root(std::size_t which);
    void welcome(std::unique_ptr<wire::Link> link);
    void say_hello(int unreachable);
    void on_placement(Placement const& placement);
    void attach(std::unique_ptr<wire::Link> link);
    void on_attached();
    void on_parent_lost(wire::LinkEnd const& end);
    void up(Kind kind, std::initializer_list<std::span<std::byte const>> parts) override;
    void fence(FenceKey const& key, Bytes bytes) override;
    void send_up(Kind kind, std::int32_t node,
                 std::initializer_list<std::span<std::byte const>> parts);
    Hello hello(wire::Link const& link);

    // Messages to and from the children.
    void listen();
    void on_child(std::unique_ptr<wire::Link> link);
    void on_child_message(int child, wire::Message const& message);
    void on_attach(int child, std::int32_t node, std::span<std::byte const> body);
    void on_detached(int child, Detached detached);
    void on_child_end(int child, wire::LinkEnd const& end);
    void child_lost(int child, std::string const& why);
    void learn_tree(std::vector<int> const& parents);
    void on_parent_message(wire::Message const& message);
    void pass_down(wire::Message const& message, std::int32_t to);
    void perform(FenceNode::Actions actions);

    // The job.
    void handle(Kind kind, std::span<std::byte const> body);
    void handle_mpi(Kind kind, std::span<std::byte const> body);
    void launch(Launch launch);
    void finish();
    void finish_step();
    void end(int code);
    void tell_failure(std::string const& why);
    void reap_orphans();

    wire::Loop& loop_;
    AgentConfig config_;
    JobFolder const& folder_;
    wire::Credentials credentials_;
    Place place_;            ///< labels of this node; empty where they are not known
    std::string interface_;  ///< network interface through which the root is reached
    std::unique_ptr<wire::Listener> listener_;
    std::unique_ptr<wire::Link> first_link_;  ///< to the root, until this agent has a parent
    std::unique_ptr<wire::Link> parent_;
    int parent_node_ = 0;
    std::map<int, Child> children_;
    std::vector<Pending> waiting_;  ///< messages queued until there is a parent
    FenceNode fences_;
    std::unique_ptr<NodeJob> job_;
    wire::Loop::Handle dialling_, orphans_, leave_timer_;
    wire::Clock::time_point dial_until_{};
    bool was_attached_ = false;
    bool finishing_now_ = false, leaving_ = false;
    int code_ = 0;
};

}  // namespace sinew::launch
