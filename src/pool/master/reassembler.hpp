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

/// What a worker says, as it reaches the master: control messages in their order, and results that
/// came by transfer put together again. A message behind a transfer that is still coming in waits.
class Reassembler {
public:
    using Deliver = std::function<void(Kind, std::span<std::byte const>)>;
    explicit Reassembler(Deliver deliver) : deliver_(std::move(deliver)) {}
    Reassembler(Reassembler const&) = delete;

    void control(Kind kind, std::span<std::byte const> body);
    /// False: no piece of ours.
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
    std::optional<std::vector<std::byte>> arrived_;  ///< a whole message, to be delivered now
    std::deque<Held> held_;
};

}  // namespace sinew::pool
