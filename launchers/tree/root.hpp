// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "launchers/tree/admission.hpp"
#include "launchers/tree/child_links.hpp"
#include "launchers/tree/fence.hpp"
#include "launchers/tree/protocol.hpp"
#include "launchers/tree/tree.hpp"
#include "src/wire/link.hpp"
#include "src/wire/loop/loop.hpp"

namespace sinew::launch {

/// The root of the tree of agents: accepts them, assigns each a parent, sends messages to any of
/// them, passes their messages to the job, and tracks which are present.
class Root {
public:
    struct Callbacks {
        std::function<void(int node)> joined;
        /// The node is lost for good: its process or its host is gone, or it does not respond.
        std::function<void(int node, std::string const& why)> lost;
        /// A link ended after farewell(), as it should.
        std::function<void()> left;
        std::function<void(int node, Kind kind, std::span<std::byte const> body)> message;
    };

    Root(wire::Loop& loop, wire::Address const& address, wire::Credentials credentials, int fanout,
         Callbacks callbacks);
    ~Root();

    wire::Address const& address() const { return listener_.address(); }
    /// Allows this node to join, in this incarnation only.
    void expect(int node, std::uint32_t incarnation) { admission_.expect(node, incarnation); }
    /// Allows an agent of this node that comes by itself to join, now and after each loss.
    void expect_by_itself(int node) { admission_.expect_by_itself(node); }
    /// Lets no agent of this node join any more, and tells the one that is present to end.
    void dismiss(int node);
    bool present(int node) const { return present_.contains(node); }
    Hello const& hello(int node) const { return hellos_.at(node); }
    std::set<int> const& present_nodes() const { return present_; }
    /// The parent of each node in the tree, root_node for the root's own children.
    std::vector<int> parents() const;

    /// Sends to one node, or to all that are present if `to` is `everyone`.
    void send(int to, Kind kind, std::initializer_list<std::span<std::byte const>> parts);
    /// Begins an epoch in which `members` have ranks.
    void restart_fences(std::uint32_t epoch, std::vector<int> const& members);
    /// Fails the fences that wait for these nodes.
    void fail_fences(std::vector<int> const& nodes, std::string const& why);
    /// From this call on, links are expected to end.
    void farewell() { farewell_ = true; }

private:
    void on_link(std::unique_ptr<wire::Link> link);
    void on_link_message(std::uint64_t number, int node, wire::Message const& message);
    void on_link_end(std::uint64_t number, int node, wire::LinkEnd const& end);
    void on_hello(std::uint64_t number, std::span<std::byte const> body);
    void on_here(int node);
    std::optional<int> way(int node) const;
    void on_message(int child, wire::Message const& message);
    void on_attach(int child, Attach const& attach);
    void on_detached(int child, Detached const& detached);
    void on_end(int child, std::string const& why);
    void on_gone(int node, std::string const& why);
    void perform(FenceNode::Actions const& actions);

    wire::Loop& loop_;
    Callbacks callbacks_;
    TreeBuilder tree_;
    FenceNode fences_;
    Admission admission_;
    std::map<int, Hello> hellos_;
    struct Joining {
        int node = 0;
        std::unique_ptr<wire::Link> link;
    };
    std::uint64_t links_ = 0;                   ///< accepted so far, which numbers them
    std::map<std::uint64_t, Joining> joining_;  ///< connected, but not children; by number
    ChildLinks children_;
    std::map<int, std::uint64_t> child_numbers_;  ///< of the children's links
    std::set<int> present_;                       ///< attached, or orphaned and not yet lost
    struct Orphan {
        wire::Loop::Handle patience;
        std::vector<std::pair<std::uint8_t, std::string>> waiting;  ///< messages queued for it
    };
    std::map<int, Orphan> orphans_;  ///< lost their parent; until reattached or lost
    bool farewell_ = false;
    wire::Listener listener_;
};

}  // namespace sinew::launch
