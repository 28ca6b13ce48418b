// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstring>
#include <deque>
#include <memory>
#include <span>

namespace sinew::wire {

/// Bytes to be sent, in order. Small frames share a block.
class SendQueue {
public:
    void append(std::span<std::byte const> bytes) {
        if (bytes.empty()) return;
        if (back_ == nullptr || bytes.size() > back_->capacity - back_->end)
            return append_in_parts(bytes);
        std::memcpy(back_->bytes.get() + back_->end, bytes.data(), bytes.size());
        back_->end += bytes.size();
        size_ += bytes.size();
    }
    /// The first blocks, as many as fit; returns their number.
    std::size_t gather(std::span<iovec> blocks) const;
    /// The first bytes were sent.
    void consume(std::size_t bytes);
    void clear();
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

private:
    struct Block {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t capacity = 0, begin = 0, end = 0;
    };
    void append_in_parts(std::span<std::byte const> bytes);
    void add_block(std::size_t wanted);
    void drop_front();

    std::deque<Block> blocks_;
    Block* back_ = nullptr;  ///< of the blocks; null: there is none
    Block spare_;            ///< of the usual size, so that a single message allocates nothing
    std::size_t size_ = 0;
};

}  // namespace sinew::wire
