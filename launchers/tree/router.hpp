// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "launchers/tree/child_links.hpp"
#include "launchers/tree/fence.hpp"
#include "launchers/tree/protocol.hpp"
#include "launchers/tree/redial_pause.hpp"
#include "launchers/tree/root_dial.hpp"
#include "src/wire/link.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// An agent's place in the tree: its links to the parent and the children. Sends the messages of
/// this node and of those below up to the root, delivers those of the root, and combines fences.
/// Finds its parent through the root; when it has lost the parent, it asks for another one. For the
/// loop's thread only.
class TreeRouter {
public:
    struct Callbacks {
        /// The root has sent a message for this node.
        std::function<void(Kind kind, std::span<std::byte const> body)> message;
        std::function<void(FenceKey const& key, FenceParts const& parts)> fence_done;
        std::function<void(FenceKey const& key, std::string const& why)> fence_failed;
        /// The root cannot be reached, or refuses this agent.
        std::function<void(std::string const& why)> root_lost;
        /// An agent that comes by itself still waits for the root. Called now and then.
        std::function<void(std::string const& why)> waiting = [](std::string const&) {};
        /// A link ended after farewell(), as it should.
        std::function<void()> child_left, parent_left;
    };
    /// `self`: what the root is told about this node, without addresses. `folder`: for the socket
    /// of the children, if they are on this host. `config` must outlive the router.
    TreeRouter(wire::Loop& loop, AgentConfig const& config, Hello self, std::string folder,
               Callbacks callbacks);
    ~TreeRouter();

    /// Connects to the root, and by its answer to a parent. Messages wait until there is one.
    void connect();
    bool has_parent() const { return parent_ != nullptr; }
    /// Whether this agent has had a parent, and so been part of the job.
    bool was_attached() const { return was_attached_; }
    /// Whether the root has refused this agent for good.
    bool refused() const { return refused_; }
    bool has_children() const { return !children_.empty(); }
    /// The network interface through which the root is reached; empty: loopback.
    std::string const& interface() const { return interface_; }

    /// What a root that replaces this one will be told.
    void set_progress(JobProgress const& progress) { self_.progress = progress; }

    /// What the root is told about this node, without addresses.
    Hello const& self() const { return self_; }

    /// Sends a message of this node to the root.
    void up(Kind kind, std::initializer_list<std::span<std::byte const>> parts);
    /// Sends at once what was given to `up`. Requires no parent.
    void flush();
    /// This node's part of a fence.
    void fence(FenceKey const& key, Bytes bytes);
    /// Begins an epoch in which `members` have ranks. `parents`: the parent of each node.
    void restart(std::uint32_t epoch, std::vector<int> const& members,
                 std::vector<int> const& parents);
    /// From this call on, links are expected to end.
    void farewell() { farewell_ = true; }
    /// Reports to the root that this agent is done, and ends the link. Requires: has_parent().
    void close();

private:
    struct Pending {
        Kind kind;
        std::string bytes;
    };

    // The way up.
    void dial_root();
    void dial_again(std::string const& why, bool unreachable);
    void welcome(std::unique_ptr<wire::Link> link);
    void not_accepted(std::string const& why);
    void say_hello(int unreachable);
    Hello hello(wire::Link const& link);
    void on_placement(Placement const& placement);
    void attach(std::unique_ptr<wire::Link> link);
    void on_attached();
    void on_parent_lost(wire::LinkEnd const& end);
    void on_parent_message(wire::Message const& message);
    void send_up(Kind kind, std::int32_t node,
                 std::initializer_list<std::span<std::byte const>> parts);

    // The way down.
    void listen();
    void on_child(std::unique_ptr<wire::Link> link);
    void on_child_message(int child, wire::Message const& message);
    void on_attach(int child, std::int32_t node, std::span<std::byte const> body);
    void on_detached(int child, Detached detached);
    void on_child_end(int child, wire::LinkEnd const& end);
    void child_lost(int child, std::string const& why);
    void pass_down(int to, wire::Message const& message);
    void perform(FenceNode::Actions actions);

    wire::Loop& loop_;
    AgentConfig const& config_;
    Hello self_;
    std::string const folder_;
    Callbacks const callbacks_;
    wire::Credentials credentials_;
    std::string interface_;
    std::unique_ptr<wire::Listener> listener_;
    std::unique_ptr<wire::Link> first_link_;  ///< to the root, until this agent has a parent
    std::unique_ptr<wire::Link> parent_;
    int parent_node_ = 0;
    ChildLinks children_;
    std::vector<Pending> waiting_;  ///< messages queued until there is a parent
    FenceNode fences_;
    std::unique_ptr<RootDial> root_dial_;
    wire::Loop::Handle dialling_, placing_;
    wire::Clock::time_point dial_until_{}, tell_at_{};
    std::string dialled_before_;  // why the last attempt to reach the root failed
    RedialPause pause_;
    int dials_ = 0;  ///< connections to roots that were tried
    bool was_attached_ = false, farewell_ = false, refused_ = false;
};

}  // namespace sinew::launch
