// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/nodes/protocol.hpp"

namespace sinew::nodes {

/// Sends the messages of several children over one link. Control messages are sent at once. Bulk
/// messages wait for room in the link, and the children take turns, one message each. Requires:
/// runtime's guard held.
class RoundRobinSender {
public:
    using Parts = std::initializer_list<std::span<std::byte const>>;
    explicit RoundRobinSender(std::unique_ptr<wire::Link> link) : link_(std::move(link)) {}

    /// Returns null after release(); the methods below do nothing then.
    wire::Link* link() const { return link_.get(); }
    /// Drops the messages that wait.
    std::unique_ptr<wire::Link> release();

    void send(MessageKind kind, Head head, Parts parts = {});
    /// Also orders `kind` behind the child's earlier messages that wait.
    void send_in_turn(MessageKind kind, Head head, Parts parts = {});
    void flush();
    /// Must be called when the link has room again.
    void drained();
    /// Bytes of this child's messages that wait.
    std::size_t waiting(std::uint64_t child) const;
    /// Drops this child's messages that wait.
    void forget(std::uint64_t child) { queues_.erase(child); }

private:
    struct Message {
        MessageKind kind;
        Head head;
        std::vector<std::byte> bytes;
    };
    struct Queue {
        std::deque<Message> messages;
        std::size_t bytes = 0;
    };
    std::unique_ptr<wire::Link> link_;
    std::map<std::uint64_t, Queue> queues_;  ///< of children with messages that wait
    std::deque<std::uint64_t> turns_;        ///< may name children without a queue
    bool full_ = false;
};

}  // namespace sinew::nodes
