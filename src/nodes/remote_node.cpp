// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/remote_node.hpp"

#include <sinew/error.hpp>
#include <sinew/task/encoding.hpp>
#include <utility>
#include <vector>

#include "src/base/log.hpp"
#include "src/base/text.hpp"
#include "src/nodes/remote_child.hpp"

namespace sinew::nodes {

RemoteNode::RemoteNode(std::unique_ptr<wire::Link> link, std::string host)
    : link_(std::move(link)), host_(std::move(host)) {}

RemoteNode::~RemoteNode() = default;

void RemoteNode::begin() {
    link_->on({.message =
                   [this](wire::Message const& message) {
                       auto const self = shared_from_this();
                       on_message(message);
                   },
               .end =
                   [this](wire::LinkEnd const& end) {
                       auto const self = shared_from_this();
                       on_end(end.text);
                   }});
}

std::unique_ptr<process::Child> RemoteNode::start(process::ChildSpec const& spec) {
    if (!link_)
        throw Unavailable(text(spec.name, " cannot be started on ", host_,
                               " (that node is lost: ", why_lost_, "). Choose another node"));
    auto const number = next_child_++;
    auto child = std::make_unique<RemoteChild>(shared_from_this(), number);
    children_.emplace(number, child.get());
    auto const order = encode_start(spec);
    send(MessageKind::start, {number, 0}, {order});
    return child;
}

void RemoteNode::over() {
    if (!link_) return;
    why_lost_ = "it was let go";
    send(MessageKind::over, {});
    close_in_order(std::move(link_));
}

wire::Flow RemoteNode::send(MessageKind word, Head head,
                            std::initializer_list<std::span<std::byte const>> parts) {
    if (!link_) return wire::Flow::go;
    auto const kind = static_cast<std::uint8_t>(word);
    auto const* const part = parts.begin();
    if (parts.size() == 0) return link_->send(kind, 0, {bytes_of(head)});
    if (parts.size() == 1) return link_->send(kind, 0, {bytes_of(head), part[0]});
    std::vector<std::byte> whole;
    for (auto const each : parts) whole.insert(whole.end(), each.begin(), each.end());
    return link_->send(kind, 0, {bytes_of(head), whole});
}

void RemoteNode::flush() {
    if (link_) link_->flush();
}

void RemoteNode::on_message(wire::Message const& message) {
    auto const word = static_cast<MessageKind>(message.kind);
    auto body = message.payload;
    auto const head = take_head(body);
    if (!head || word < MessageKind::started || word > MessageKind::renew)
        return on_end(text(link_->peer().name, ": a message of kind ", +message.kind,
                           " that makes no sense"));
    if (word == MessageKind::renew) return static_cast<void>(send(MessageKind::granted, *head));
    // What is still under way from one that was let go.
    auto const found = children_.find(head->child);
    if (found == children_.end()) return;
    if (word != MessageKind::ended) return found->second->hear(word, head->number, body);
    process::ChildEnd end;
    try {
        end = decode_end(body);
    } catch (DecodeError const& error) {
        end.fate = text("ended in a way that cannot be read (", error.what(), ")");
    }
    auto* const child = found->second;
    children_.erase(found);
    child->end(end);
}

void RemoteNode::on_end(std::string const& why) {
    if (!link_) return;
    why_lost_ = why;
    link_ = nullptr;
    log_warning(text(host_, " is lost (", why, ")",
                     children_.empty() ? "" : "; what was started there ends, too"));
    while (!children_.empty()) {  // each may let go of others
        auto* const child = children_.extract(children_.begin()).mapped();
        process::ChildEnd end;
        end.fate = text("is lost with its host ", host_, " (", why, ")");
        child->end(end);
    }
}

}  // namespace sinew::nodes
