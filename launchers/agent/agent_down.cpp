// SPDX-License-Identifier: Apache-2.0
// The agents below an agent, and the messages that it forwards to them.
#include <sinew/error.hpp>

#include "launchers/agent/agent.hpp"
#include "launchers/tree/fence_codec.hpp"
#include "launchers/tree/tree.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {

void Agent::listen() {
    bool const here = config_.roots.front().starts_with("unix:");
    auto const address = here ? wire::Address::unix_socket(folder_.path() + "/agent.sock")
                              : wire::Address::tcp("0.0.0.0", 0);
    listener_ =
        std::make_unique<wire::Listener>(loop_, address, credentials_, wire::Listener::Options{},
                                         [this](auto link) { on_child(std::move(link)); });
}

void Agent::on_child(std::unique_ptr<wire::Link> link) {
    int const child = static_cast<int>(link->peer().node);
    if (children_.contains(child))  // it reconnected before its loss was noticed
        child_lost(child, text(link->peer().name, " has connected again"));
    link->on({.message = [this, child](auto const& message) { on_child_message(child, message); },
              .end = [this, child](auto const& end) { on_child_end(child, end); }});
    children_[child] = {.link = std::move(link), .nodes = NodeSet({child})};
}

void Agent::on_child_message(int child, wire::Message const& message) {
    auto body = message.payload;
    auto const node = take_head<std::int32_t>(body);
    switch (auto const kind = static_cast<Kind>(message.kind)) {
        case Kind::fence_up:
            if (auto up = decode_up(body)) perform(fences_.from_child(child, std::move(*up)));
            return;
        case Kind::attach:
            return on_attach(child, node, body);
        case Kind::detached:
            return on_detached(child, decode<Detached>(text_of(body)));
        default:
            send_up(kind, node, {body});
    }
}

void Agent::on_attach(int child, std::int32_t node, std::span<std::byte const> body) {
    auto const attach = decode<Attach>(text_of(body));
    auto& below = children_.at(child);
    NodeSet const more(attach.nodes);
    below.nodes = below.nodes | more;
    perform(fences_.more_below(child, more));
    if (node == child) {
        std::int32_t const to = child;
        below.link->send(static_cast<std::uint8_t>(Kind::attached), 0, {bytes_of(to)});
    }
    if (attach.again) send_up(Kind::attach, node, {body});
}

// Nodes no longer recorded below this child have reattached elsewhere and are not gone.
void Agent::on_detached(int child, Detached detached) {
    auto& below = children_.at(child);
    auto const gone = NodeSet(detached.nodes) & below.nodes;
    if (gone.empty()) return;
    below.nodes = below.nodes - gone;
    perform(fences_.below(child, below.nodes));
    detached.nodes = gone.nodes();
    up(Kind::detached, {bytes_of(encode(detached))});
}

void Agent::on_child_end(int child, wire::LinkEnd const& end) {
    bool const in_order = finishing_now_ && end.cause == wire::LinkEnd::Cause::closed;
    if (in_order) children_.erase(child);
    else child_lost(child, end.text);
    if (finishing_now_) finish_step();
}

void Agent::child_lost(int child, std::string const& why) {
    auto const nodes = children_.at(child).nodes.nodes();
    children_.erase(child);
    perform(fences_.child_gone(child));
    up(Kind::detached, {bytes_of(encode(Detached{.child = child, .nodes = nodes, .why = why}))});
}

// Computes which nodes are below which child, from the root's list of parents.
void Agent::learn_tree(std::vector<int> const& parents) {
    std::map<int, std::vector<int>> below;
    for (auto const& [child, link] : children_) below[child] = {};
    for (int node = 0; node < static_cast<int>(parents.size()); ++node) {
        int top = node;
        while (top != root_node && !below.contains(top)) top = parents[top];
        if (top != root_node) below[top].push_back(node);
    }
    for (auto& [child, nodes] : below) {
        children_.at(child).nodes = NodeSet(std::move(nodes));
        perform(fences_.below(child, children_.at(child).nodes));
    }
}

void Agent::on_parent_message(wire::Message const& message) {
    auto body = message.payload;
    auto const to = take_head<std::int32_t>(body);
    if (static_cast<Kind>(message.kind) == Kind::fence_down) {
        if (auto down = decode_down(body)) perform(fences_.from_parent(std::move(*down)));
        return;
    }
    if (static_cast<Kind>(message.kind) == Kind::attached) return on_attached();
    if (to == everyone || to != config_.node) pass_down(message, to);
    if (to == everyone || to == config_.node) handle(static_cast<Kind>(message.kind), body);
}

void Agent::pass_down(wire::Message const& message, std::int32_t to) {
    for (auto& [child, below] : children_)
        if (to == everyone || below.nodes.contains(to))
            below.link->send(message.kind, 0, {message.payload});
}

void Agent::perform(FenceNode::Actions actions) {
    for (auto& action : actions) {
        if (auto const* up = std::get_if<FenceNode::Up>(&action)) {
            this->up(Kind::fence_up, {encode_up(*up)});
        } else if (auto const* down = std::get_if<FenceNode::Down>(&action)) {
            auto const bytes = encode_down(*down);
            std::int32_t const to = everyone;
            for (int const child : down->children)
                if (auto const found = children_.find(child); found != children_.end())
                    found->second.link->send(static_cast<std::uint8_t>(Kind::fence_down), 0,
                                             {bytes_of(to), bytes});
        } else if (auto const* done = std::get_if<FenceNode::Done>(&action)) {
            if (job_) job_->fence_done(done->key, done->parts);
        } else if (auto const* failed = std::get_if<FenceNode::Failed>(&action)) {
            if (job_) job_->fence_failed(failed->key, failed->why);
        }
    }
}

}  // namespace sinew::launch
