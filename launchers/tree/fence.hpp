// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "launchers/tree/node_set.hpp"

namespace sinew::launch {

/// Identifies a fence, since ranks may have several in progress. `sequence` counts those of the
/// same kind and group on each node, so that all nodes number them alike.
struct FenceKey {
    enum class Kind : std::uint8_t { pmix, pmi1, addresses };
    std::uint32_t epoch = 0;
    Kind kind = Kind::pmix;
    std::vector<std::int32_t> nodes = {};  ///< participants, sorted; empty: every node of the job
    std::uint64_t group = 0;               ///< distinguishes groups of ranks on the same nodes
    std::uint64_t sequence = 0;
    auto operator<=>(FenceKey const&) const = default;
};

using Bytes = std::vector<std::byte>;

/// The data that one node contributes to a fence.
struct FencePart {
    std::int32_t node;
    Bytes bytes;
    friend bool operator==(FencePart const&, FencePart const&) = default;
};

/// The result of a fence, by node; nodes that contributed no bytes are left out. Copies share the
/// data, since all children and the ranks get it.
class FenceParts {
public:
    FenceParts() : parts_(std::make_shared<std::vector<FencePart> const>()) {}
    FenceParts(std::vector<FencePart> parts)
        : parts_(std::make_shared<std::vector<FencePart> const>(std::move(parts))) {}
    auto begin() const { return parts_->begin(); }
    auto end() const { return parts_->end(); }
    std::size_t size() const { return parts_->size(); }
    bool empty() const { return parts_->empty(); }
    FencePart const& operator[](std::size_t i) const { return (*parts_)[i]; }

private:
    std::shared_ptr<std::vector<FencePart> const> parts_;
};

/// One node's part in all fences: collects its subtree's data, sends it up, passes the result down.
///
/// Pure state machine: calls return the actions to perform, in order. The root has one too, and
/// only it ends a fence: when it has all parts, or knows that a node is lost. Other nodes report a
/// fence that cannot end to the root and wait. Links must keep messages in order.
class FenceNode {
public:
    using Part = FencePart;
    struct Up {  ///< to the parent
        FenceKey key;
        NodeSet nodes;            ///< nodes that have entered since the last Up
        std::vector<Part> parts;  ///< those of `nodes` that contributed bytes, by node
        std::string error;        ///< not empty: why this fence cannot end
    };
    struct Down {      ///< to `children`
        FenceKey key;  ///< only its epoch counts when `lost` is not empty
        FenceParts parts;
        std::vector<int> children;
        std::string error;  ///< not empty: why the fence failed
        NodeSet lost;       ///< not empty: lost nodes, for the reason in `error`
    };
    struct Done {  ///< for the ranks of this node
        FenceKey key;
        FenceParts parts;
    };
    struct Failed {  ///< for the ranks of this node
        FenceKey key;
        std::string why;
    };
    using Action = std::variant<Up, Down, Done, Failed>;
    using Actions = std::vector<Action>;

    /// `self` is root_node for the root, which has no ranks.
    explicit FenceNode(int self);
    ~FenceNode();
    FenceNode(FenceNode&&) noexcept;
    FenceNode& operator=(FenceNode&&) noexcept;

    /// Starts an epoch, also the first: `members` are the nodes that have ranks in the job. Drops
    /// the fences of earlier epochs and their late messages; the nodes below stay.
    void restart(std::uint32_t epoch, NodeSet members);
    /// Sets the nodes below `child`, itself included. Must be called whenever they change. Linear
    /// in the size of the set. Nodes that were below another child are moved. Fences that a removed
    /// node had already entered fail.
    Actions below(int child, NodeSet const& nodes);
    /// Adds nodes below `child`; costs less than `below`.
    Actions more_below(int child, NodeSet const& more);
    Actions child_gone(int child);
    /// The link to the parent is lost: nothing is sent up until parent_found. What was sent up may
    /// be lost; such fences fail as soon as the root can be notified.
    void parent_gone(std::string const& why);
    Actions parent_found();

    /// All ranks of this node have entered.
    Actions local(FenceKey const& key, Bytes bytes);
    Actions from_child(int child, Up up);
    Actions from_parent(Down down);
    /// For the root: these nodes are lost. Fences that wait for them, also later ones, fail.
    Actions fail(NodeSet const& nodes, std::string const& why);

    std::size_t pending() const { return entries_.size(); }
    /// Invalid (parts of) messages, which were ignored; they indicate a defect of another node.
    std::uint64_t ignored() const { return ignored_; }

private:
    struct Entry;
    struct Loss {
        NodeSet nodes;
        std::string why;
    };

    bool is_root() const;
    NodeSet const& participants(FenceKey const& key, NodeSet& made) const;
    std::string const* why_lost(NodeSet const& who) const;
    std::vector<int> children() const;
    std::vector<int> children_of(NodeSet const& who) const;
    bool makes_sense(FenceKey const& key, NodeSet const& who) const;
    NodeSet const& subtree() const;
    void take(Entry& entry, Up& up, NodeSet const& fresh);
    void advance(FenceKey const& key, Actions& actions);
    void finish(FenceKey const& key, Actions& actions);
    void give_up(FenceKey const& key, std::string const& why, Actions& actions);
    void end_failed(FenceKey const& key, std::string const& why, Actions& actions);
    Actions add_below(int child, NodeSet const& more, NodeSet gone);
    Actions forget(NodeSet const& gone);

    int self_;
    std::uint32_t epoch_ = 0;
    bool attached_ = true;
    NodeSet members_;
    std::map<int, NodeSet> below_;
    mutable NodeSet subtree_;  ///< this node and all below; recomputed when `stale_`
    mutable bool stale_ = true;
    std::map<FenceKey, Entry> entries_;
    /// Kept for ranks that enter later in the epoch. Fences failed by a loss are not listed here.
    std::map<FenceKey, std::string> failed_;
    std::vector<Loss> losses_;
    std::uint64_t ignored_ = 0;
};

}  // namespace sinew::launch
