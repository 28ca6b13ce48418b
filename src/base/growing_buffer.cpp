// SPDX-License-Identifier: Apache-2.0
#include "src/base/growing_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <new>

namespace sinew {

void GrowingBuffer::append(std::span<std::byte const> bytes, std::size_t expected) {
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

std::shared_ptr<std::byte const> GrowingBuffer::release() {
    size_ = capacity_ = 0;
    return std::move(bytes_);
}

}  // namespace sinew
