// SPDX-License-Identifier: Apache-2.0
#include "src/nodes/round_robin_sender.hpp"

namespace sinew::nodes {
namespace {

std::vector<std::byte> concatenated(RoundRobinSender::Parts parts) {
    std::vector<std::byte> whole;
    for (auto const part : parts) whole.insert(whole.end(), part.begin(), part.end());
    return whole;
}

}  // namespace

std::unique_ptr<wire::Link> RoundRobinSender::release() {
    queues_.clear();
    turns_.clear();
    return std::move(link_);
}

void RoundRobinSender::send(MessageKind kind, Head head, Parts parts) {
    if (!link_) return;
    auto const number = static_cast<std::uint8_t>(kind);
    auto const first = bytes_of(head);
    auto const* const part = parts.begin();
    auto flow = wire::Flow::go;
    if (parts.size() == 0) flow = link_->send(number, 0, {first});
    else if (parts.size() == 1) flow = link_->send(number, 0, {first, part[0]});
    else if (parts.size() == 2) flow = link_->send(number, 0, {first, part[0], part[1]});
    else flow = link_->send(number, 0, {first, concatenated(parts)});
    full_ = full_ || flow == wire::Flow::full;
}

void RoundRobinSender::send_in_turn(MessageKind kind, Head head, Parts parts) {
    if (!link_) return;
    auto const found = queues_.find(head.child);
    if (!full_ && found == queues_.end()) return send(kind, head, parts);
    auto& queue = found == queues_.end() ? queues_[head.child] : found->second;
    if (queue.messages.empty()) turns_.push_back(head.child);
    queue.messages.push_back({kind, head, concatenated(parts)});
    queue.bytes += queue.messages.back().bytes.size();
}

void RoundRobinSender::flush() {
    if (link_) link_->flush();
}

void RoundRobinSender::drained() {
    full_ = false;
    while (link_ && !full_ && !turns_.empty()) {
        auto const child = turns_.front();
        turns_.pop_front();
        auto const found = queues_.find(child);
        if (found == queues_.end()) continue;
        auto& queue = found->second;
        auto const message = std::move(queue.messages.front());
        queue.messages.pop_front();
        queue.bytes -= message.bytes.size();
        if (queue.messages.empty()) queues_.erase(found);
        else turns_.push_back(child);
        send(message.kind, message.head, {message.bytes});
    }
}

std::size_t RoundRobinSender::waiting(std::uint64_t child) const {
    auto const found = queues_.find(child);
    return found == queues_.end() ? 0 : found->second.bytes;
}

}  // namespace sinew::nodes
