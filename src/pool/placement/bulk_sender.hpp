// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>

#include "src/wire/link.hpp"

namespace sinew::pool {

/// Sends large payloads in pieces, as fast as the link takes them.
class BulkSender {
public:
    /// Sends one piece: its head and its bytes.
    using Send = std::function<wire::Flow(std::span<std::byte const> head,
                                          std::span<std::byte const> bytes)>;
    explicit BulkSender(Send send) : send_(std::move(send)) {}
    void add(std::uint64_t id, std::span<std::byte const> bytes, std::shared_ptr<void const> keep);
    /// The link has room again.
    void go_on();

private:
    struct Transfer {
        std::uint64_t id;
        std::span<std::byte const> left;
        std::uint64_t total;
        std::shared_ptr<void const> keep;
    };
    Send send_;
    std::deque<Transfer> waiting_;
    bool full_ = false;
};

}  // namespace sinew::pool
