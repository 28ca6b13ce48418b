// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <span>

namespace sinew::wire {

/// Bytes on their way out, in the order in which they came: small frames share a block.
class SendQueue {
public:
    void append(std::span<std::byte const> bytes);
    /// The first blocks, as many as fit; returns how many.
    std::size_t gather(std::span<iovec> blocks) const;
    /// The first bytes are gone.
    void consume(std::size_t bytes);
    void clear();
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

private:
    struct Block {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t capacity = 0, begin = 0, end = 0;
    };
    void add_block(std::size_t wanted);
    void drop_front();

    std::deque<Block> blocks_;
    Block spare_;  ///< one of the usual size, so that a lone message allocates nothing
    std::size_t size_ = 0;
};

}  // namespace sinew::wire
