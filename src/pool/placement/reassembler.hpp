// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "src/pool/protocol.hpp"
#include "src/pool/transfers.hpp"

namespace sinew::pool {

/// The messages of a worker as they reach the master: control messages in order, and results that
/// were transferred in pieces put together. A message behind an incomplete transfer waits.
class Reassembler {
public:
    using Deliver = std::function<void(Kind, std::span<std::byte const>)>;
    explicit Reassembler(Deliver deliver) : deliver_(std::move(deliver)) {}
    Reassembler(Reassembler const&) = delete;

    void control(Kind kind, std::span<std::byte const> body);
    /// Throws DecodeError if it does not fit those before.
    void piece(Piece const& piece);

private:
    struct Held {
        Kind kind;
        std::vector<std::byte> body;
    };
    bool deliver(Kind kind, std::span<std::byte const> body);

    Deliver deliver_;
    Transfers transfers_;
    std::deque<Held> held_;
};

}  // namespace sinew::pool
