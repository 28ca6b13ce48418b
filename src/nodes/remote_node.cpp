// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/remote_node.hpp"

#include <algorithm>
#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/nodes/remote_child.hpp"

namespace sinew::nodes {

RemoteNode::RemoteNode(wire::Loop& loop, std::unique_ptr<wire::Link> link, std::string host,
                       std::string const& id)
    : loop_(loop), sender_(std::move(link)), host_(std::move(host)),
      name_(id.empty() || id == host_ ? host_ : text(id, " on ", host_)),
      granted_(wire::Clock::now()) {}

RemoteNode::~RemoteNode() = default;

void RemoteNode::begin() {
    sender_.link()->on({.message =
                            [this](wire::Message const& message) {
                                auto const self = shared_from_this();
                                on_message(message);
                            },
                        .end =
                            [this](wire::LinkEnd const& end) {
                                auto const self = shared_from_this();
                                on_end(end.text);
                            },
                        .liveness =
                            [this](wire::Liveness now) {
                                auto const self = shared_from_this();
                                on_liveness(now == wire::Liveness::suspect);
                            },
                        .drained =
                            [this] {
                                auto const self = shared_from_this();
                                sender_.drained();
                            }});
}

void RemoteNode::greet() { sender_.link()->send_now(welcome, 0, {}); }

std::unique_ptr<process::Child> RemoteNode::start(process::ChildSpec const& spec) {
    if (lost())
        throw Unavailable(text(spec.name, " cannot be started on ", host_,
                               " (that node is lost: ", why_lost_, "). Choose another node"));
    auto const number = next_child_++;
    auto child = std::make_unique<RemoteChild>(shared_from_this(), number);
    children_.emplace(number, child.get());
    sender_.send(MessageKind::start, {number, 0}, {encode_start(spec)});
    return child;
}

void RemoteNode::over() {
    if (cut_off()) return;
    why_lost_ = "nothing uses it any more";
    sender_.send(MessageKind::over, {});
    close_in_order(sender_.release());
}

void RemoteNode::forget(std::uint64_t child) {
    children_.erase(child);
    sender_.forget(child);
    sender_.send(MessageKind::drop, {child, 0});
    sender_.flush();
}

void RemoteNode::on_message(wire::Message const& message) {
    auto const kind = static_cast<MessageKind>(message.kind);
    auto body = message.payload;
    auto const head = take_value<Head>(body);
    if (cut_off()) return;
    if (!head || kind < MessageKind::started || kind > MessageKind::leaving)
        return on_end(text(sender_.link()->peer().name, ": a message of kind ", +message.kind,
                           " that is not valid"));
    if (kind == MessageKind::renew) return grant(*head);
    if (kind == MessageKind::leaving) {
        if (std::exchange(leaving_, true)) return;
        why_lost_ = "it was given back";
        return tell_change();
    }
    // Messages of a dropped child may still be in flight.
    auto const found = children_.find(head->child);
    if (found == children_.end()) return;
    if (kind == MessageKind::ended) return on_ended(*found->second, body);
    found->second->receive(kind, head->number, body);
}

void RemoteNode::on_ended(RemoteChild& child, std::span<std::byte const> body) {
    Ending ending;
    try {
        ending = decode_ending(body);
    } catch (DecodeError const& error) {
        ending.end.lost = true;
        ending.end.code = 255;
        ending.end.fate = text("ended in a way that cannot be read (", error.what(), ")");
    }
    children_.erase(child.number_);
    ending.end.withdrawn = leaving_;
    child.end(ending);
}

void RemoteNode::grant(Head const& asked) {
    granted_ = wire::Clock::now();
    sender_.send(MessageKind::granted, asked);
}

// Iterates over a copy: each callback may drop children.
void RemoteNode::on_liveness(bool suspect) {
    auto const children = children_;
    for (auto const& [number, child] : children)
        if (children_.contains(number)) child->node_is_suspect(suspect);
}

// The last lease was granted at `granted_`, and counts from its request, which was earlier.
void RemoteNode::on_end(std::string const& why) {
    if (cut_off()) return;
    auto const link = sender_.release();
    if (!leaving_ || !children_.empty())
        log_warning(
            text(name_, " is lost (", why, ")",
                 children_.empty() ? "" : "; the processes that were started there end, too"));
    if (!leaving_) why_lost_ = why;
    tell_change();
    if (children_.empty()) return;
    on_liveness(true);
    auto const left = granted_ + lease + lease_margin - wire::Clock::now();
    lease_over_ = loop_.after(std::max(left, wire::Clock::duration::zero()), [this, why] {
        auto const self = shared_from_this();
        report_dead(why);
    });
}

void RemoteNode::report_dead(std::string const& why) {
    while (!children_.empty()) {  // each callback may drop others
        auto* const child = children_.extract(children_.begin()).mapped();
        Ending ending;
        ending.end.lost = true;
        ending.end.code = 255;
        ending.end.fate = text("is lost with its host ", name_, " (", why, ")");
        child->end(ending);
    }
    tell_change();
}

void RemoteNode::confirm_end(std::string const& why) {
    auto const self = shared_from_this();
    on_end(why);
    if (children_.empty()) return;
    lease_over_ = {};
    report_dead(why);
}

void RemoteNode::tell_change() {
    if (auto const changed = changed_) changed();
}

}  // namespace sinew::nodes
