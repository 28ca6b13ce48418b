// SPDX-License-Identifier: Apache-2.0
#include "src/pool/placement/reassembler.hpp"

#include <algorithm>
#include <cstring>

namespace sinew::pool {

void Reassembler::control(Kind kind, std::span<std::byte const> body) {
    if (held_.empty() && deliver(kind, body)) return;
    held_.push_back({kind, {body.begin(), body.end()}});
}

void Reassembler::piece(Piece const& piece) {
    if (!transfers_.add(piece)) return;
    while (!held_.empty() && deliver(held_.front().kind, held_.front().body)) held_.pop_front();
}

// Returns false if the message must wait for its transfer.
bool Reassembler::deliver(Kind kind, std::span<std::byte const> body) {
    ResultsHead head{};
    if (kind == Kind::results && body.size() >= sizeof head)
        std::memcpy(&head, body.data(), sizeof head);
    if (head.transfer == 0) {
        deliver_(kind, body);
        return true;
    }
    if (!transfers_.complete(head.transfer)) return false;
    auto const payload = transfers_.take(head.transfer);
    std::vector<std::byte> whole(sizeof head + payload.size());
    std::memcpy(whole.data(), &head, sizeof head);
    std::ranges::copy(payload.bytes(), whole.begin() + sizeof head);
    deliver_(Kind::results, whole);
    return true;
}

}  // namespace sinew::pool
