// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <span>
#include <string>
#include <vector>

#include <sinew/task/codec.hpp>

namespace sinew::sgd {

/// One of the things that a part of a commit holds.
struct StoredItem {
    std::string description;  ///< "parameters: f32 x 4810", or "residuals: bytes" of any number
    std::span<std::byte const> bytes;
};

/// A part's content in pieces: one that says what the items are, then the bytes of each. Those that the
/// program has are borrowed, so that nothing is copied.
class PartContent {
public:
    PartContent() = default;
    PartContent(PartContent const&) = delete;
    PartContent& operator=(PartContent const&) = delete;

    /// The content of these items, whose bytes are borrowed, or are in `memory`.
    void describe(std::span<StoredItem const> items);
    /// Adds a piece of so many bytes, which the caller fills.
    std::span<std::byte> add(std::size_t bytes);
    /// Memory for bytes of items that nobody else keeps.
    std::list<std::vector<std::byte>>& memory() { return memory_; }
    std::span<std::span<std::byte const> const> pieces() const { return pieces_; }
    std::vector<std::uint64_t> sizes() const;

private:
    Writer head_;
    std::list<std::vector<std::byte>> memory_;
    std::vector<std::span<std::byte const>> pieces_;
};

/// The items of a content, with the bytes in it. Throws DecodeError if it is none.
std::vector<StoredItem> items_of(std::span<std::byte const> content);

/// Returns what differs between the items that are stored and those that a program adds, or nothing.
std::string difference(std::span<StoredItem const> stored, std::span<std::string const> added);

}  // namespace sinew::sgd
