// SPDX-License-Identifier: Apache-2.0
#include "src/pool/transfers.hpp"

#include <utility>

#include "src/base/text.hpp"

namespace sinew::pool {

Piece read_piece(std::uint8_t kind, std::span<std::byte const> payload) {
    if (static_cast<Kind>(kind) != Kind::piece)
        throw DecodeError(text("a message of kind ", +kind, " on the link for pieces"));
    Reader reader(payload);
    Piece piece{};
    reader.read(&piece.head, sizeof piece.head);
    if (piece.head.transfer == 0) throw DecodeError("a piece of transfer 0 (they count from 1)");
    piece.bytes = reader.take(reader.left());
    return piece;
}

bool Transfers::add(Piece const& piece) {
    auto const& [head, bytes] = piece;
    auto& open = open_[head.transfer];
    if (!std::exchange(open.known, true)) open.total = head.total;
    if (open.total != head.total || bytes.size() > open.total - open.arrived)
        throw DecodeError(text("a piece of ", bytes.size(), " bytes at ", open.arrived,
                               " of transfer ", head.transfer, ", which has ", open.total, " (and ",
                               head.total, " by this piece)"));
    if (bytes.empty() && open.total != 0)
        throw DecodeError(text("an empty piece of transfer ", head.transfer));
    open.arrived += bytes.size();
    if (!open.unwanted) open.payload.append(bytes, open.total);
    if (open.arrived < open.total) return false;
    if (!open.unwanted) return true;
    open_.erase(head.transfer);
    return false;
}

bool Transfers::complete(std::uint64_t transfer) const {
    auto const found = open_.find(transfer);
    return found != open_.end() && found->second.known &&
           found->second.arrived == found->second.total;
}

GrowingBuffer Transfers::take(std::uint64_t transfer) {
    auto const found = open_.find(transfer);
    auto payload = std::move(found->second.payload);
    open_.erase(found);
    return payload;
}

void Transfers::discard(std::uint64_t transfer) {
    if (complete(transfer)) {
        open_.erase(transfer);
        return;
    }
    auto& open = open_[transfer];
    open.unwanted = true;
    open.payload = {};
}

}  // namespace sinew::pool
