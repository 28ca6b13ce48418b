// SPDX-License-Identifier: Apache-2.0
//
// A node waits for all participants of its subtree, sends their entries up as one message, and
// forwards later entries as they arrive. Its record of the subtree may be out of date: a missing
// node costs one more message, and only the root, which knows all members, ends a fence.
#include "launchers/tree/fence.hpp"

#include <algorithm>
#include <optional>

#include "launchers/tree/tree.hpp"

namespace sinew::launch {

struct FenceNode::Entry {
    NodeSet seen;             ///< nodes that have entered, as far as known here
    NodeSet unsent;           ///< those of `seen` not yet sent to the parent
    std::vector<Part> parts;  ///< parts of the unsent nodes
    bool entered = false;     ///< the ranks of this node wait for the end
    bool sent = false;        ///< something was sent to the parent
    std::string broken;       ///< why it cannot end; the root is notified once attached
};

FenceNode::FenceNode(int self) : self_(self) {}
FenceNode::~FenceNode() = default;
FenceNode::FenceNode(FenceNode&&) noexcept = default;
FenceNode& FenceNode::operator=(FenceNode&&) noexcept = default;

bool FenceNode::is_root() const { return self_ == root_node; }

void FenceNode::restart(std::uint32_t epoch, NodeSet members) {
    epoch_ = epoch;
    members_ = std::move(members);
    entries_.clear();
    failed_.clear();
    losses_.clear();
}

NodeSet const& FenceNode::participants(FenceKey const& key, NodeSet& made) const {
    if (key.nodes.empty()) return members_;
    made = NodeSet(key.nodes);
    return made;
}

bool FenceNode::makes_sense(FenceKey const& key, NodeSet const& who) const {
    if (key.epoch != epoch_ || who.empty()) return false;
    if (key.nodes.empty()) return true;
    // Requires a strictly ascending list, or one fence would have several keys.
    return who.size() == key.nodes.size() && common(who, members_) == who.size() &&
           std::is_sorted(key.nodes.begin(), key.nodes.end());
}

std::string const* FenceNode::why_lost(NodeSet const& who) const {
    for (auto const& loss : losses_)
        if (meet(loss.nodes, who)) return &loss.why;
    return nullptr;
}

std::vector<int> FenceNode::children_of(NodeSet const& who) const {
    std::vector<int> children;
    for (auto const& [child, nodes] : below_)
        if (meet(nodes, who)) children.push_back(child);
    return children;
}

std::vector<int> FenceNode::children() const {
    std::vector<int> children;
    for (auto const& [child, nodes] : below_) children.push_back(child);
    return children;
}

NodeSet const& FenceNode::subtree() const {
    if (!stale_) return subtree_;
    std::vector<int> all;
    if (!is_root()) all.push_back(self_);
    for (auto const& [child, nodes] : below_) {
        auto const some = nodes.nodes();
        all.insert(all.end(), some.begin(), some.end());
    }
    subtree_ = NodeSet(std::move(all));
    stale_ = false;
    return subtree_;
}

FenceNode::Actions FenceNode::below(int child, NodeSet const& nodes) {
    NodeSet gone;
    if (auto const mine = below_.find(child); mine != below_.end()) {
        gone = mine->second - nodes;
        mine->second = mine->second & nodes;
    }
    return add_below(child, nodes, std::move(gone));
}

FenceNode::Actions FenceNode::more_below(int child, NodeSet const& more) {
    return add_below(child, more, {});
}

FenceNode::Actions FenceNode::add_below(int child, NodeSet const& more, NodeSet gone) {
    auto const [mine, is_new] = below_.try_emplace(child);
    for (auto& [other, theirs] : below_) {
        if (other == child || !meet(theirs, more)) continue;
        gone = gone | (theirs & more);
        theirs = theirs - more;
    }
    mine->second = mine->second | more;
    stale_ = true;
    Actions actions;
    // A new child may have missed some of the losses, or all.
    if (is_new)
        for (auto const& loss : losses_)
            actions.push_back(
                Down{{.epoch = epoch_, .nodes = {}}, {}, {child}, loss.why, loss.nodes});
    auto rest = forget(gone);
    std::move(rest.begin(), rest.end(), std::back_inserter(actions));
    return actions;
}

FenceNode::Actions FenceNode::child_gone(int child) {
    auto const found = below_.find(child);
    if (found == below_.end()) return {};
    NodeSet const gone = std::move(found->second);
    below_.erase(found);
    stale_ = true;
    return forget(gone);
}

// Fails the fences that nodes of `gone` had entered: they do not enter again, and the result cannot
// reach them. Nodes that had not entered yet may do so by another path, so other fences continue.
FenceNode::Actions FenceNode::forget(NodeSet const& gone) {
    Actions actions;
    if (gone.empty()) return actions;
    std::vector<FenceKey> keys;
    for (auto const& [key, entry] : entries_) keys.push_back(key);
    for (auto const& key : keys) {
        if (meet(entries_.at(key).seen, gone))
            give_up(key, "a node lost its connection to the root during this fence", actions);
        else advance(key, actions);  // maybe only the gone nodes had not entered
    }
    return actions;
}

void FenceNode::parent_gone(std::string const& why) {
    attached_ = false;
    for (auto& [key, entry] : entries_)
        if (entry.sent && entry.broken.empty()) entry.broken = why;
}

FenceNode::Actions FenceNode::parent_found() {
    attached_ = true;
    Actions actions;
    std::vector<FenceKey> keys;
    for (auto const& [key, entry] : entries_) keys.push_back(key);
    for (auto const& key : keys) {
        // Repeated if it was sent before, since the message may have been lost with the link.
        if (auto const& why = entries_.at(key).broken; !why.empty())
            actions.push_back(Up{key, {}, {}, why});
        else advance(key, actions);
    }
    // Nodes below know that these failed and will not enter them, so others must not wait for them.
    for (auto const& [key, why] : failed_) actions.push_back(Up{key, {}, {}, why});
    return actions;
}

FenceNode::Actions FenceNode::local(FenceKey const& key, Bytes bytes) {
    NodeSet made;
    NodeSet const& who = participants(key, made);
    Actions actions;
    if (!makes_sense(key, who) || !who.contains(self_)) {
        actions.push_back(Failed{key, "no such fence (of another epoch, or of other nodes)"});
        return actions;
    }
    auto const failed = failed_.find(key);
    auto const* why = failed != failed_.end() ? &failed->second : why_lost(who);
    if (why != nullptr) {
        actions.push_back(Failed{key, *why});
        return actions;
    }
    auto& entry = entries_[key];
    if (entry.entered) {
        ++ignored_;
        return actions;
    }
    entry.entered = true;
    NodeSet const me = NodeSet::range(self_, self_);
    entry.seen = entry.seen | me;
    entry.unsent = entry.unsent | me;
    if (!bytes.empty()) entry.parts.push_back({self_, std::move(bytes)});
    advance(key, actions);
    return actions;
}

FenceNode::Actions FenceNode::from_child(int child, Up up) {
    Actions actions;
    auto const source = below_.find(child);
    NodeSet made;
    NodeSet const& who = participants(up.key, made);
    if (source == below_.end() || !makes_sense(up.key, who)) {
        ++ignored_;
        return actions;
    }
    if (auto const failed = failed_.find(up.key); failed != failed_.end()) {
        actions.push_back(Down{up.key, {}, {child}, failed->second, {}});
        return actions;
    }
    if (why_lost(who) != nullptr) return actions;  // the child was notified of the loss
    if (!up.error.empty()) {
        give_up(up.key, up.error, actions);
        return actions;
    }
    NodeSet fresh = up.nodes & source->second & who;
    auto const found = entries_.find(up.key);
    if (found != entries_.end()) fresh = fresh - found->second.seen;
    if (fresh.size() != up.nodes.size()) ++ignored_;
    if (fresh.empty()) return actions;
    take(entries_[up.key], up, fresh);
    advance(up.key, actions);
    return actions;
}

// Takes the parts of the nodes in `fresh`, one per node, and ignores all others.
void FenceNode::take(Entry& entry, Up& up, NodeSet const& fresh) {
    entry.seen = entry.seen | fresh;
    entry.unsent = entry.unsent | fresh;
    std::optional<int> last;
    for (auto& part : up.parts) {
        if (!fresh.contains(part.node) || (last && *last >= part.node)) {
            ++ignored_;
            continue;
        }
        last = part.node;
        if (!part.bytes.empty()) entry.parts.push_back(std::move(part));
    }
}

void FenceNode::advance(FenceKey const& key, Actions& actions) {
    auto& entry = entries_.at(key);
    NodeSet made;
    NodeSet const& who = participants(key, made);
    if (is_root()) {
        if (entry.seen.size() == who.size()) finish(key, actions);
        return;
    }
    if (!attached_ || !entry.broken.empty() || entry.unsent.empty()) return;
    if (!entry.sent && common(entry.seen, subtree()) < common(who, subtree())) return;
    std::sort(entry.parts.begin(), entry.parts.end(),
              [](Part const& a, Part const& b) { return a.node < b.node; });
    actions.push_back(Up{key, std::exchange(entry.unsent, {}), std::exchange(entry.parts, {}), {}});
    entry.sent = true;
}

// For the root: ends a fence that all participants have entered.
void FenceNode::finish(FenceKey const& key, Actions& actions) {
    auto entry = entries_.extract(key);
    auto& parts = entry.mapped().parts;
    std::sort(parts.begin(), parts.end(),
              [](Part const& a, Part const& b) { return a.node < b.node; });
    NodeSet made;
    auto children = children_of(participants(key, made));
    actions.push_back(Down{key, std::move(parts), std::move(children), {}, {}});
}

// Gives up a fence that cannot end: the root notifies all nodes, any other node notifies the root.
void FenceNode::give_up(FenceKey const& key, std::string const& why, Actions& actions) {
    if (is_root()) {
        end_failed(key, why, actions);
        return;
    }
    auto& entry = entries_[key];
    if (!entry.broken.empty()) return;
    entry.broken = why;
    if (attached_) actions.push_back(Up{key, {}, {}, why});
}

// Applies the root's decision that a fence failed, and keeps it for ranks that enter later. It is
// sent to all children, since the tree may be changing and every node must receive it.
void FenceNode::end_failed(FenceKey const& key, std::string const& why, Actions& actions) {
    failed_.emplace(key, why);
    if (!below_.empty()) actions.push_back(Down{key, {}, children(), why, {}});
    auto const entry = entries_.extract(key);
    if (entry && entry.mapped().entered) actions.push_back(Failed{key, why});
}

FenceNode::Actions FenceNode::from_parent(Down down) {
    Actions actions;
    if (is_root() || down.key.epoch != epoch_) {
        ++ignored_;
        return actions;
    }
    if (!down.lost.empty()) return fail(down.lost, down.error);
    NodeSet made;
    NodeSet const& who = participants(down.key, made);
    if (!makes_sense(down.key, who)) {
        ++ignored_;
        return actions;
    }
    if (failed_.contains(down.key) || why_lost(who) != nullptr) return actions;
    if (!down.error.empty()) {
        end_failed(down.key, down.error, actions);
        return actions;
    }
    auto const found = entries_.find(down.key);
    if (found == entries_.end() || !found->second.sent ||
        found->second.entered != who.contains(self_)) {
        ++ignored_;
        return actions;
    }
    bool const mine = std::exchange(found->second.entered, false);
    // A broken fence is kept: nodes below may miss this result, and wait for the root to fail it.
    if (found->second.broken.empty()) entries_.erase(found);
    auto children = children_of(who);
    if (!children.empty())
        actions.push_back(Down{down.key, down.parts, std::move(children), {}, {}});
    if (mine) actions.push_back(Done{std::move(down.key), std::move(down.parts)});
    return actions;
}

FenceNode::Actions FenceNode::fail(NodeSet const& nodes, std::string const& why) {
    NodeSet news = nodes & members_;
    for (auto const& loss : losses_) news = news - loss.nodes;
    Actions actions;
    if (news.empty()) return actions;
    if (!below_.empty())
        actions.push_back(Down{{.epoch = epoch_, .nodes = {}}, {}, children(), why, news});
    for (auto entry = entries_.begin(); entry != entries_.end();) {
        NodeSet made;
        bool const ends = meet(participants(entry->first, made), news);
        if (ends && entry->second.entered) actions.push_back(Failed{entry->first, why});
        entry = ends ? entries_.erase(entry) : std::next(entry);
    }
    losses_.push_back({std::move(news), why});
    return actions;
}

}  // namespace sinew::launch
