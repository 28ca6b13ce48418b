// SPDX-License-Identifier: Apache-2.0
#include "src/pool/remote/remote_port.hpp"

#include <algorithm>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::pool {

RemotePort::RemotePort(std::shared_ptr<RemoteNode> node, std::uint64_t worker)
    : node_(std::move(node)), worker_(worker), name_(text("a worker on ", node_->host())),
      incoming_([this](Kind kind, auto body) { callbacks_.message(kind, body); }) {}

RemotePort::~RemotePort() {
    kill();
    node_->forget(worker_);
}

void RemotePort::send(Kind kind, std::initializer_list<std::span<std::byte const>> parts) {
    MessageHead const head{worker_, static_cast<std::uint64_t>(kind)};
    auto const* const part = parts.begin();
    if (parts.size() == 0) node_->send(Relay::tell, {head_bytes(head)});
    else if (parts.size() == 1) node_->send(Relay::tell, {head_bytes(head), part[0]});
    else if (parts.size() == 2) node_->send(Relay::tell, {head_bytes(head), part[0], part[1]});
    else {
        std::vector<std::byte> whole;
        for (auto const each : parts) whole.insert(whole.end(), each.begin(), each.end());
        node_->send(Relay::tell, {head_bytes(head), whole});
    }
}

void RemotePort::transfer(std::uint64_t id, std::span<std::byte const> bytes,
                          std::shared_ptr<void const> keep) {
    transfers_.push_back({id, bytes, bytes.size(), std::move(keep)});
    if (may_send()) node_->want(worker_);
}

bool RemotePort::send_piece() {
    auto& first = transfers_.front();
    auto const part = first.left.first(std::min(first.left.size(), relay_piece));
    first.left = first.left.subspan(part.size());
    WorkerHead const to{worker_};
    PieceHead const head{first.id, first.total};
    under_way_ += part.size();
    node_->send(Relay::piece, {head_bytes(to), head_bytes(head), part});
    if (first.left.empty()) transfers_.pop_front();
    return may_send();
}

void RemotePort::kill() { node_->send(Relay::kill, {head_bytes(WorkerHead{worker_})}); }

void RemotePort::started(std::uint64_t pid) { name_ = text("pid ", pid, " on ", node_->host()); }

void RemotePort::taken(std::uint64_t bytes) {
    under_way_ -= std::min(bytes, under_way_);
    if (may_send()) node_->want(worker_);
}

void RemotePort::suspect(bool own) {
    suspect_ = own;
    tell_liveness();
}

void RemotePort::node_suspect(bool node) {
    node_suspect_ = node;
    tell_liveness();
}

void RemotePort::tell_liveness() {
    bool const now = suspect_ || node_suspect_;
    if (std::exchange(told_suspect_, now) != now) callbacks_.liveness(now);
}

}  // namespace sinew::pool
