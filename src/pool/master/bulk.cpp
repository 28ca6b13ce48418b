// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/bulk.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

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

struct BulkReceiver::Transfer {
    std::vector<std::byte> bytes;
    std::uint64_t total = 0;
    bool announced = false;
    std::function<void(std::span<std::byte const>)> work;
};

BulkReceiver::Transfer& BulkReceiver::transfer(std::uint64_t id) {
    auto const found = std::find_if(transfers_.begin(), transfers_.end(),
                                    [id](auto const& each) { return each.first == id; });
    if (found != transfers_.end()) return *found->second;
    return *transfers_.emplace_back(id, std::make_shared<Transfer>()).second;
}

bool BulkReceiver::piece(std::span<std::byte const> frame) {
    PieceHead head{};
    if (frame.size() < sizeof head) return false;
    std::memcpy(&head, frame.data(), sizeof head);
    auto const bytes = frame.subspan(sizeof head);
    auto& into = transfer(head.transfer);
    if (into.announced && into.total != head.total) return false;
    into.announced = true;
    into.total = head.total;
    if (bytes.size() > into.total - into.bytes.size()) return false;
    into.bytes.insert(into.bytes.end(), bytes.begin(), bytes.end());
    finish_if_complete(head.transfer);
    return true;
}

void BulkReceiver::when_complete(std::uint64_t id,
                                 std::function<void(std::span<std::byte const>)> work) {
    transfer(id).work = std::move(work);
    finish_if_complete(id);
}

void BulkReceiver::finish_if_complete(std::uint64_t id) {
    auto const& waiting = transfer(id);
    if (!waiting.announced || waiting.bytes.size() < waiting.total || !waiting.work) return;
    auto const found = std::find_if(transfers_.begin(), transfers_.end(),
                                    [id](auto const& each) { return each.first == id; });
    auto const done = found->second;
    transfers_.erase(found);
    done->work(done->bytes);
}

}  // namespace sinew::pool
