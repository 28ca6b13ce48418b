// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "src/base/retained.hpp"

namespace sinew::collectives {

/// Working memory for the operations of one communicator, which run one at a time. It is kept
/// between calls, so that a hot loop neither allocates nor faults pages in.
class Scratch {
public:
    /// Takes memory for the current operation, aligned to a cache line. Its contents are undefined.
    std::span<std::byte> take(std::size_t bytes) {
        if (used_ == blocks_.size()) blocks_.emplace_back();
        Block& block = blocks_[used_++];
        if (block.size < bytes) {
            block = Block{};  // frees the old memory first, to limit the peak
            block.memory.reset(new (std::align_val_t{alignment}) std::byte[bytes]);
            block.size = bytes;
        }
        return {block.memory.get(), bytes};
    }

    /// Takes an array of `count` objects of a trivial type.
    template <class T>
    std::span<T> take_array(std::size_t count) {
        static_assert(std::is_trivial_v<T> && alignof(T) <= alignment);
        auto* const first = reinterpret_cast<T*>(take(count * sizeof(T)).data());
        std::uninitialized_default_construct_n(first, count);
        return {first, count};
    }

    /// Makes all memory available again. Blocks above keep_bytes are freed.
    void release() {
        used_ = 0;
        for (Block& block : blocks_)
            if (block.size > keep_bytes) block = Block{};
    }

    /// Leaks all memory until exit, because the transfers of a failed operation may still use it.
    void retain() {
        used_ = 0;
        detail::retain_value_until_exit(std::exchange(blocks_, {}));
    }

private:
    static constexpr std::size_t alignment = 64;
    static constexpr std::size_t keep_bytes = std::size_t{64} << 20;
    struct Delete {
        void operator()(std::byte* memory) const {
            ::operator delete[](memory, std::align_val_t{alignment});
        }
    };
    struct Block {
        std::unique_ptr<std::byte[], Delete> memory;
        std::size_t size = 0;
    };
    std::vector<Block> blocks_;
    std::size_t used_ = 0;
};

}  // namespace sinew::collectives
