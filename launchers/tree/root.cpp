// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/root.hpp"

#include <sinew/error.hpp>

#include "launchers/common/timestamp.hpp"
#include "launchers/tree/fence_codec.hpp"
#include "src/base/log.hpp"
#include "src/base/text.hpp"

namespace sinew::launch {
namespace {

// Time for an agent that has lost its parent to reattach to another one.
constexpr auto orphan_patience = std::chrono::seconds(8);

}  // namespace

Root::Root(wire::Loop& loop, wire::Address const& address, wire::Credentials credentials,
           int fanout, Callbacks callbacks)
    : loop_(loop), callbacks_(std::move(callbacks)), tree_(fanout), fences_(root_node),
      listener_(loop, address, std::move(credentials), wire::Listener::Options{},
                [this](auto link) { on_link(std::move(link)); }) {}

Root::~Root() = default;

void Root::dismiss(int node) {
    admission_.dismiss(node);
    if (present(node)) send(node, Kind::dismiss, {});
}

// The root's child that leads to `node`; nullopt if `node` is not connected.
std::optional<int> Root::way(int node) const {
    auto above = tree_.parent(node);
    while (above && *above != root_node) {
        node = *above;
        above = tree_.parent(node);
    }
    return above ? std::optional(node) : std::nullopt;
}

std::vector<int> Root::parents() const {
    std::vector<int> found;
    for (auto const& [node, hello] : hellos_) {
        found.resize(static_cast<std::size_t>(node) + 1, root_node);
        found[node] = tree_.parent(node).value_or(root_node);
    }
    return found;
}

// A node may have several links for a while: an agent that looks for another parent, a newcomer
// beside the one that it replaces.
void Root::on_link(std::unique_ptr<wire::Link> link) {
    int const node = static_cast<int>(link->peer().node);
    auto const number = ++links_;
    link->on({.message = [this, number,
                          node](auto const& message) { on_link_message(number, node, message); },
              .end = [this, number, node](auto const& end) { on_link_end(number, node, end); }});
    joining_[number] = {.node = node, .link = std::move(link)};
}

void Root::on_link_message(std::uint64_t number, int node, wire::Message const& message) {
    if (!joining_.contains(number)) {
        auto const child = child_numbers_.find(node);
        if (child != child_numbers_.end() && child->second == number) on_message(node, message);
        return;
    }
    auto body = message.payload;
    take_head<std::int32_t>(body);
    auto const kind = static_cast<Kind>(message.kind);
    if (kind == Kind::hello) on_hello(number, body);
    if (kind == Kind::here && tree_.parent(node)) on_here(node);
}

void Root::on_link_end(std::uint64_t number, int node, wire::LinkEnd const& end) {
    if (joining_.erase(number) != 0) return;
    auto const child = child_numbers_.find(node);
    if (child != child_numbers_.end() && child->second == number) on_end(node, end.text);
}

void Root::on_hello(std::uint64_t number, std::span<std::byte const> body) {
    int const node = joining_.at(number).node;
    auto hello = decode<Hello>(text_of(body));
    bool const accepted = present(node) || children_.contains(node);
    auto const verdict = admission_.judge(node, hello, accepted);
    if (verdict.replaces) {
        children_.remove(node);
        child_numbers_.erase(node);
        on_gone(node, text("another agent has taken its place (", hello.name, ", process ",
                           hello.pid, ")"));
    }
    Placement placement{
        .parent = root_node, .address = {}, .refused = verdict.refused, .later = verdict.later};
    if (placement.refused.empty()) {
        placement.parent = hello.unreachable == everyone ? tree_.place(node)
                                                         : tree_.place(node, hello.unreachable);
        if (placement.parent != root_node) placement.address = hellos_.at(placement.parent).listen;
        hello.accepted_ms = milliseconds_of(std::chrono::system_clock::now());
        hellos_[node] = std::move(hello);
    }
    auto& link = joining_.at(number).link;
    std::int32_t const to = node;
    link->send(static_cast<std::uint8_t>(Kind::place), 0,
               {bytes_of(to), bytes_of(encode(placement))});
    if (!placement.refused.empty()) return link->close();
    if (placement.parent != root_node) return;  // the link stays until the agent has attached
    children_.add(node, std::move(link));
    child_numbers_[node] = number;
    joining_.erase(number);
}

void Root::on_here(int node) {
    if (!present_.insert(node).second) return;
    orphans_.erase(node);
    callbacks_.joined(node);
}

void Root::on_message(int child, wire::Message const& message) {
    auto body = message.payload;
    int const node = take_head<std::int32_t>(body);
    auto const kind = static_cast<Kind>(message.kind);
    if (kind == Kind::fence_up) {
        if (auto up = decode_up(body)) perform(fences_.from_child(child, std::move(*up)));
    } else if (kind == Kind::attach) {
        on_attach(child, decode<Attach>(text_of(body)));
    } else if (kind == Kind::detached) {
        on_detached(child, decode<Detached>(text_of(body)));
    } else {
        callbacks_.message(node, kind, body);
    }
}

void Root::on_attach(int child, Attach const& attach) {
    perform(fences_.more_below(child, NodeSet(attach.nodes)));
    for (int const node : attach.nodes) {
        auto const orphan = orphans_.extract(node);
        on_here(node);
        if (!orphan) continue;
        for (auto const& [kind, bytes] : orphan.mapped().waiting)
            children_.at(child).link->send(kind, 0, {bytes_of(bytes)});
    }
}

void Root::on_detached(int child, Detached const& detached) {
    auto const top = way(detached.child);
    if (top != child) return;  // it has already reattached elsewhere
    auto const hello = hellos_.find(detached.child);
    if (hello != hellos_.end() && (hello->second.process != detached.process ||
                                   hello->second.incarnation != detached.incarnation))
        return;  // another agent serves the node by now
    on_gone(detached.child, detached.why);
}

void Root::on_end(int child, std::string const& why) {
    children_.remove(child);
    child_numbers_.erase(child);
    if (!farewell_) return on_gone(child, why);
    present_.erase(child);
    callbacks_.left();
}

// Removes a lost node. The nodes below it reattach elsewhere, or are lost as well.
void Root::on_gone(int node, std::string const& why) {
    auto const top = way(node);
    auto const below = tree_.subtree(node);
    tree_.remove(node);
    if (top == node) perform(fences_.child_gone(node));
    else if (top) perform(fences_.below(*top, NodeSet(tree_.subtree(*top))));
    present_.erase(node);
    admission_.gone(node);
    orphans_.erase(node);
    for (int const orphan : below)
        if (orphan != node && present_.contains(orphan) && !orphans_.contains(orphan))
            orphans_[orphan].patience = loop_.after(orphan_patience, [this, orphan] {
                on_gone(orphan,
                        "its connection to sinew run was lost, and it has not found another");
            });
    fail_fences({node}, why);
    callbacks_.lost(node, why);
}

void Root::send(int to, Kind kind, std::initializer_list<std::span<std::byte const>> parts) {
    std::int32_t const head = to;
    std::string whole(text_of(bytes_of(head)));
    for (auto const part : parts) whole += text_of(part);
    auto const number = static_cast<std::uint8_t>(kind);
    // Orphans get the message when they have reattached.
    for (auto& [orphan, state] : orphans_)
        if (std::int32_t const node = orphan; to == everyone || to == node)
            state.waiting.emplace_back(
                number, std::string(text_of(bytes_of(node))) + whole.substr(sizeof node));
    if (orphans_.contains(to)) return;
    if (to == everyone) {
        children_.broadcast(number, bytes_of(whole));
    } else if (auto const top = way(to); top && children_.contains(*top)) {
        children_.at(*top).link->send(number, 0, {bytes_of(whole)});
    }
}

void Root::restart_fences(std::uint32_t epoch, std::vector<int> const& members) {
    fences_.restart(epoch, NodeSet(members));
    for (auto const& [child, link] : children_)
        perform(fences_.below(child, NodeSet(tree_.subtree(child))));
}

void Root::fail_fences(std::vector<int> const& nodes, std::string const& why) {
    perform(fences_.fail(NodeSet(nodes), why));
}

void Root::perform(FenceNode::Actions const& actions) {
    for (auto const& action : actions)
        if (auto const* down = std::get_if<FenceNode::Down>(&action)) children_.send(*down);
}

}  // namespace sinew::launch
