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

/// Which fence: ranks may have several under way. `sequence` counts those of the same kind and
/// group on each node, so that all nodes number them alike.
struct FenceKey {
    enum class Kind : std::uint8_t { pmix, pmi1, addresses };
    std::uint32_t epoch = 0;
    Kind kind = Kind::pmix;
    std::vector<std::int32_t> nodes = {};  ///< who takes part, sorted; empty: every node of the job
    std::uint64_t group = 0;               ///< tells apart groups of ranks on the same nodes
    std::uint64_t sequence = 0;
    auto operator<=>(FenceKey const&) const = default;
};

using Bytes = std::vector<std::byte>;

/// What one node brings to a fence.
struct FencePart {
    std::int32_t node;
    Bytes bytes;
    friend bool operator==(FencePart const&, FencePart const&) = default;
};

/// The result of a fence, by node; nodes that brought no bytes are left out. Copies share it, since
/// it goes to all children and to the ranks.
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

/// One node's part in all fences: gather what the subtree says, hand it up; hand the whole down.
///
/// Pure state machine: calls return what to do, in order. The root is one of these too. Only the
/// root decides: it has seen all parts, or knows of a death; whoever else finds that a fence cannot
/// end says so upwards and waits for the root's word. Links must keep their order.
class FenceNode {
public:
    using Part = FencePart;
    struct Up {  ///< to the parent
        FenceKey key;
        NodeSet nodes;            ///< have entered, since the last of these
        std::vector<Part> parts;  ///< of those of them that brought bytes, by node
        std::string error;        ///< not empty: this fence cannot end, and why
    };
    struct Down {      ///< to these children
        FenceKey key;  ///< only its epoch counts when `lost` is not empty
        FenceParts parts;
        std::vector<int> children;
        std::string error;  ///< not empty: failed, and why
        NodeSet lost;       ///< not empty: these died, because of `error`
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

    /// `self` is root_node for the root, which has no ranks of its own.
    explicit FenceNode(int self);
    ~FenceNode();
    FenceNode(FenceNode&&) noexcept;
    FenceNode& operator=(FenceNode&&) noexcept;

    /// A new epoch, also the first: `members` are the nodes that have ranks in the job. Forgets all
    /// of the epochs before, late messages included; who is below stays.
    void restart(std::uint32_t epoch, NodeSet members);
    /// Who is below which child, itself included; again whenever that changes. It costs as much as
    /// the set is long. A node that was below another child is not any more. Fences that somebody
    /// who went away had already entered fail.
    Actions below(int child, NodeSet const& nodes);
    /// These as well; that costs less.
    Actions more_below(int child, NodeSet const& more);
    Actions child_gone(int child);
    /// The link to the parent is gone: nothing goes up until there is a new one. What had gone up
    /// may be lost; such fences fail as soon as the root can be told.
    void parent_gone(std::string const& why);
    Actions parent_found();

    /// All ranks here have entered.
    Actions local(FenceKey const& key, Bytes bytes);
    Actions from_child(int child, Up up);
    Actions from_parent(Down down);
    /// The root's: participants have died. What waits for them, now or later, fails everywhere.
    Actions fail(NodeSet const& nodes, std::string const& why);

    std::size_t pending() const { return entries_.size(); }
    /// Messages, or parts of them, that made no sense: never harmful, but somebody's defect.
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
    mutable NodeSet subtree_;  ///< this node and all below; made again when `stale_`
    mutable bool stale_ = true;
    std::map<FenceKey, Entry> entries_;
    /// Late comers must hear of it, so these stay until the epoch ends; a death needs none.
    std::map<FenceKey, std::string> failed_;
    std::vector<Loss> losses_;
    std::uint64_t ignored_ = 0;
};

}  // namespace sinew::launch
