// SPDX-License-Identifier: Apache-2.0
#include "src/wire/socket/send_queue.hpp"

#include <algorithm>
#include <utility>

namespace sinew::wire {
namespace {

constexpr std::size_t usual_block = std::size_t{64} << 10;

}  // namespace

void SendQueue::add_block(std::size_t wanted) {
    if (wanted <= usual_block && spare_.bytes) {
        spare_.begin = spare_.end = 0;
        back_ = &blocks_.emplace_back(std::exchange(spare_, Block{}));
        return;
    }
    std::size_t const capacity = std::max(wanted, usual_block);
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(capacity);
    back_ = &blocks_.emplace_back(Block{std::move(bytes), capacity, 0, 0});
}

void SendQueue::append_in_parts(std::span<std::byte const> bytes) {
    size_ += bytes.size();
    while (!bytes.empty()) {
        if (back_ == nullptr || back_->end == back_->capacity) add_block(bytes.size());
        std::size_t const part = std::min(bytes.size(), back_->capacity - back_->end);
        std::memcpy(back_->bytes.get() + back_->end, bytes.data(), part);
        back_->end += part;
        bytes = bytes.subspan(part);
    }
}

std::size_t SendQueue::gather(std::span<iovec> blocks) const {
    std::size_t count = 0;
    for (Block const& block : blocks_) {
        if (count == blocks.size()) break;
        blocks[count++] = {block.bytes.get() + block.begin, block.end - block.begin};
    }
    return count;
}

void SendQueue::drop_front() {
    if (blocks_.front().capacity == usual_block) spare_ = std::move(blocks_.front());
    blocks_.pop_front();
    if (blocks_.empty()) back_ = nullptr;
}

void SendQueue::consume(std::size_t bytes) {
    size_ -= bytes;
    while (bytes > 0) {
        Block& block = blocks_.front();
        std::size_t const part = std::min(bytes, block.end - block.begin);
        block.begin += part;
        bytes -= part;
        if (block.begin == block.end) drop_front();
    }
}

void SendQueue::clear() {
    blocks_.clear();
    back_ = nullptr;
    size_ = 0;
}

}  // namespace sinew::wire
