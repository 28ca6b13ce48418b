// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/remote_child.hpp"

#include <utility>

namespace sinew::nodes {

wire::Flow RemoteChild::Relayed::send(std::uint8_t kind, std::uint16_t,
                                      std::initializer_list<std::span<std::byte const>> parts) {
    return child_.node_->send(word_, {child_.number_, kind}, parts);
}

void RemoteChild::Relayed::flush() { child_.node_->flush(); }

wire::Flow RemoteChild::Relayed::send_now(std::uint8_t kind, std::uint16_t stream,
                                          std::initializer_list<std::span<std::byte const>> parts) {
    auto const flow = send(kind, stream, parts);
    flush();
    return flow;
}

RemoteChild::RemoteChild(std::shared_ptr<RemoteNode> node, std::uint64_t number)
    : node_(std::move(node)), number_(number), control_(*this, MessageKind::tell),
      bulk_(*this, MessageKind::tell_bulk) {}

RemoteChild::~RemoteChild() {
    if (process::Runtime::forked() || ended_) return;
    node_->children_.erase(number_);
    node_->send(MessageKind::drop, {number_, 0});
    node_->flush();
}

void RemoteChild::on(Callbacks callbacks) {
    callbacks_ = std::make_shared<Callbacks const>(std::move(callbacks));
}

void RemoteChild::hold_bulk(bool hold) {
    node_->send(MessageKind::hold, {number_, hold ? 1U : 0U});
}

void RemoteChild::signal(int number) {
    node_->send(MessageKind::signal, {number_, static_cast<std::uint64_t>(number)});
    node_->flush();
}

void RemoteChild::hear(MessageKind word, std::uint64_t number, std::span<std::byte const> body) {
    auto const callbacks = callbacks_;  // this may go within
    auto const kind = static_cast<std::uint8_t>(number);
    if (word == MessageKind::started) pid_ = static_cast<pid_t>(number);
    if (!callbacks) return;
    if (word == MessageKind::said && callbacks->control) callbacks->control({kind, 0, body});
    if (word == MessageKind::said_bulk && callbacks->bulk) callbacks->bulk({kind, 0, body});
    if (word == MessageKind::silent && callbacks->liveness)
        callbacks->liveness(number != 0 ? wire::Liveness::suspect : wire::Liveness::alive);
}

void RemoteChild::end(process::ChildEnd const& how) {
    ended_ = true;
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->ended) callbacks->ended(how);
}

}  // namespace sinew::nodes
