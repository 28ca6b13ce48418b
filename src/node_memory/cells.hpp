// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sinew::node_memory {

/// The places of a rank for messages of up to 32 bytes to readers that it does not wait for: each is a message behind a mark, which says to
/// which operation it belongs. Those for messages of similar size lie side by side: a rank that runs ahead fills a line before it is
/// fetched, so that one transfer carries several messages. Longer ones need a line each.
class Cells {
public:
    static constexpr std::size_t most_bytes = 32;
    /// A rank uses the cells of one size in turn, each in every `count`th operation.
    static constexpr std::size_t count = 64;

    using Mark = std::atomic<std::uint64_t>;
    [[gnu::always_inline]] Mark& mark(std::uint64_t operation, std::size_t bytes) {
        std::size_t const at = operation % count;
        return bytes <= 8 ? of_8_[at].mark : bytes <= 16 ? of_16_[at].mark : of_32_[at].mark;
    }
    [[gnu::always_inline]] std::byte* message(std::uint64_t operation, std::size_t bytes) {
        std::size_t const at = operation % count;
        if (bytes <= 8) return of_8_[at].message.data();
        return bytes <= 16 ? of_16_[at].message.data() : of_32_[at].message.data();
    }
    /// Whether `is_marked` holds for the mark of an operation in the cells of any size.
    template <class IsMarked>
    bool any_is(std::uint64_t operation, IsMarked const& is_marked) {
        std::size_t const at = operation % count;
        return is_marked(of_8_[at].mark) || is_marked(of_16_[at].mark) ||
               is_marked(of_32_[at].mark);
    }

private:
    template <std::size_t bytes>
    struct Cell {
        Mark mark{0};
        std::array<std::byte, bytes> message;
    };

    alignas(128) std::array<Cell<8>, count> of_8_;
    alignas(128) std::array<Cell<16>, count> of_16_;
    alignas(128) std::array<Cell<32>, count> of_32_;
};

}  // namespace sinew::node_memory
