// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/reassembler.hpp"

#include <cstring>
#include <utility>

namespace sinew::pool {

void Reassembler::control(Kind kind, std::span<std::byte const> body) {
    if (held_.empty() && deliver(kind, body)) return;
    held_.push_back({kind, {body.begin(), body.end()}});
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
    incoming_.when_complete(head.transfer, [this, head](std::span<std::byte const> bytes) {
        std::vector<std::byte> whole(sizeof head + bytes.size());
        std::memcpy(whole.data(), &head, sizeof head);
        std::memcpy(whole.data() + sizeof head, bytes.data(), bytes.size());
        arrived_ = std::move(whole);
        if (!held_.empty()) deliver_held();
    });
    if (!arrived_) return false;
    deliver_(Kind::results, *std::exchange(arrived_, std::nullopt));
    return true;
}

// Delivers the first held message, whose transfer is complete, and all that follow it up to the
// next incomplete one.
void Reassembler::deliver_held() {
    deliver_(Kind::results, *std::exchange(arrived_, std::nullopt));
    held_.pop_front();
    while (!held_.empty() && deliver(held_.front().kind, held_.front().body)) held_.pop_front();
}

}  // namespace sinew::pool
