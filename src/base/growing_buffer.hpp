// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>

namespace sinew {

/// Bytes that arrive in parts. Grows by realloc, which remaps large blocks instead of copying them.
class GrowingBuffer {
public:
    GrowingBuffer() = default;
    explicit GrowingBuffer(std::span<std::byte const> bytes) { append(bytes, bytes.size()); }
    /// `expected`: the final size, which may be a false claim: the buffer never takes more than
    /// twice the memory of what has arrived. Throws std::bad_alloc; the buffer is unchanged then.
    void append(std::span<std::byte const> bytes, std::size_t expected);
    std::span<std::byte const> bytes() const { return {bytes_.get(), size_}; }
    std::size_t size() const { return size_; }
    std::size_t capacity() const { return capacity_; }
    /// The bytes, for as long as the pointer or a copy of it exists. The buffer is empty then.
    std::shared_ptr<std::byte const> release();

private:
    struct Free {
        void operator()(std::byte* bytes) const { std::free(bytes); }
    };
    std::unique_ptr<std::byte, Free> bytes_;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace sinew
