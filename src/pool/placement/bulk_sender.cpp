// SPDX-License-Identifier: Apache-2.0
#include "src/pool/placement/bulk_sender.hpp"

#include <algorithm>
#include <utility>

#include "src/base/bytes.hpp"
#include "src/pool/protocol.hpp"

namespace sinew::pool {

void BulkSender::add(std::uint64_t id, std::span<std::byte const> bytes,
                     std::shared_ptr<void const> keep) {
    waiting_.push_back({id, bytes, bytes.size(), std::move(keep)});
    if (!full_) go_on();
}

void BulkSender::go_on() {
    full_ = false;
    while (!waiting_.empty() && !full_) {
        auto& first = waiting_.front();
        auto const part = first.left.first(std::min(first.left.size(), piece_size));
        PieceHead const head{first.id, first.total};
        first.left = first.left.subspan(part.size());
        bool const last = first.left.empty();
        full_ = send_(bytes_of(head), part) == wire::Flow::full;
        if (last) waiting_.pop_front();
    }
}

}  // namespace sinew::pool
