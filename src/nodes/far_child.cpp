// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/far_child.hpp"

#include <utility>

namespace sinew::nodes {

wire::Flow FarChild::Relayed::send(std::uint8_t kind, std::uint16_t,
                                   std::initializer_list<std::span<std::byte const>> parts) {
    return child_.node_->send(word_, {child_.number_, kind}, parts);
}

void FarChild::Relayed::flush() { child_.node_->flush(); }

wire::Flow FarChild::Relayed::send_now(std::uint8_t kind, std::uint16_t stream,
                                       std::initializer_list<std::span<std::byte const>> parts) {
    auto const flow = send(kind, stream, parts);
    flush();
    return flow;
}

FarChild::FarChild(std::shared_ptr<FarNode> node, std::uint64_t number)
    : node_(std::move(node)), number_(number), control_(*this, Word::tell),
      bulk_(*this, Word::tell_bulk) {}

FarChild::~FarChild() {
    if (process::Runtime::forked() || ended_) return;
    node_->children_.erase(number_);
    node_->send(Word::drop, {number_, 0});
    node_->flush();
}

void FarChild::on(Callbacks callbacks) {
    callbacks_ = std::make_shared<Callbacks const>(std::move(callbacks));
}

void FarChild::hold_bulk(bool hold) { node_->send(Word::hold, {number_, hold ? 1U : 0U}); }

void FarChild::signal(int number) {
    node_->send(Word::signal, {number_, static_cast<std::uint64_t>(number)});
    node_->flush();
}

void FarChild::hear(Word word, std::uint64_t number, std::span<std::byte const> body) {
    auto const callbacks = callbacks_;  // this may go within
    auto const kind = static_cast<std::uint8_t>(number);
    if (word == Word::started) pid_ = static_cast<pid_t>(number);
    if (!callbacks) return;
    if (word == Word::said && callbacks->control) callbacks->control({kind, 0, body});
    if (word == Word::said_bulk && callbacks->bulk) callbacks->bulk({kind, 0, body});
    if (word == Word::silent && callbacks->liveness)
        callbacks->liveness(number != 0 ? wire::Liveness::suspect : wire::Liveness::alive);
}

void FarChild::end(process::ChildEnd const& how) {
    ended_ = true;
    auto const callbacks = callbacks_;
    if (callbacks && callbacks->ended) callbacks->ended(how);
}

}  // namespace sinew::nodes
