// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "src/pool/master/bulk.hpp"
#include "src/pool/protocol.hpp"

namespace sinew::pool {

/// The messages of a worker as they reach the master: control messages in order, and results that
/// were transferred in pieces put together. A message behind an incomplete transfer waits.
class Reassembler {
public:
    using Deliver = std::function<void(Kind, std::span<std::byte const>)>;
    explicit Reassembler(Deliver deliver) : deliver_(std::move(deliver)) {}
    Reassembler(Reassembler const&) = delete;

    void control(Kind kind, std::span<std::byte const> body);
    /// False: it is not a piece.
    bool piece(std::span<std::byte const> frame) { return incoming_.piece(frame); }

private:
    struct Held {
        Kind kind;
        std::vector<std::byte> body;
    };
    bool deliver(Kind kind, std::span<std::byte const> body);
    void deliver_held();

    Deliver deliver_;
    BulkReceiver incoming_;
    std::optional<std::vector<std::byte>> arrived_;  ///< a complete message, to be delivered now
    std::deque<Held> held_;
};

}  // namespace sinew::pool
