// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>

#include "src/base/growing_buffer.hpp"
#include "src/pool/protocol.hpp"

namespace sinew::pool {

struct Piece {
    PieceHead head;
    std::span<std::byte const> bytes;
};
/// Parses a message of the bulk link. Throws DecodeError.
Piece read_piece(std::uint8_t kind, std::span<std::byte const> payload);

/// Payloads that arrive in pieces.
class Transfers {
public:
    /// True: the transfer is complete, and may be taken. Throws DecodeError if the pieces do not
    /// fit.
    bool add(Piece const& piece);
    bool complete(std::uint64_t transfer) const;
    GrowingBuffer take(std::uint64_t transfer);
    /// Nobody will take the transfer: drops what has arrived, and what arrives later.
    void discard(std::uint64_t transfer);
    std::size_t size() const { return open_.size(); }

private:
    struct Open {
        GrowingBuffer payload;
        std::uint64_t total = 0, arrived = 0;
        bool known = false, unwanted = false;
    };
    std::unordered_map<std::uint64_t, Open> open_;
};

}  // namespace sinew::pool
