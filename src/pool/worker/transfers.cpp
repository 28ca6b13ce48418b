// SPDX-License-Identifier: Apache-2.0
#include "src/pool/worker/transfers.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "src/base/text.hpp"

namespace sinew::pool {

void Blob::append(std::span<std::byte const> bytes, std::size_t expected) {
    if (bytes.empty()) return;
    if (capacity_ - size_ < bytes.size()) {
        auto const needed = size_ + bytes.size();
        auto const wanted = std::max(needed, std::min(expected, 2 * needed));
        auto* const moved = static_cast<std::byte*>(std::realloc(bytes_.get(), wanted));
        if (moved == nullptr) throw std::bad_alloc();
        static_cast<void>(bytes_.release());  // realloc has freed it
        bytes_.reset(moved);
        capacity_ = wanted;
    }
    std::memcpy(bytes_.get() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
}

bool Transfers::add(PieceHead const& head, std::span<std::byte const> bytes) {
    auto& open = open_[head.transfer];
    if (!std::exchange(open.known, true)) open.total = head.total;
    if (open.total != head.total || bytes.size() > open.total - open.arrived)
        throw DecodeError(text("a piece of ", bytes.size(), " bytes at ", open.arrived,
                               " of transfer ", head.transfer, ", which has ", open.total, " (and ",
                               head.total, " by this piece)"));
    if (bytes.empty() && open.total != 0)
        throw DecodeError(text("an empty piece of transfer ", head.transfer));
    open.arrived += bytes.size();
    if (!open.unwanted) open.blob.append(bytes, open.total);
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

Blob Transfers::take(std::uint64_t transfer) {
    auto const found = open_.find(transfer);
    auto blob = std::move(found->second.blob);
    open_.erase(found);
    return blob;
}

void Transfers::discard(std::uint64_t transfer) {
    if (complete(transfer)) {
        open_.erase(transfer);
        return;
    }
    auto& open = open_[transfer];
    open.unwanted = true;
    open.blob = {};
}

}  // namespace sinew::pool
