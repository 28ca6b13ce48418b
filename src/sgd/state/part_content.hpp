// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

/// Returns a part's content in pieces: `head`, which says what the items are, and their bytes.
std::vector<std::span<std::byte const>> pieces_of(std::span<StoredItem const> items, Writer& head);

/// The items of a content, with the bytes in it. Throws DecodeError if it is none.
std::vector<StoredItem> items_of(std::span<std::byte const> content);

/// Returns what differs between the items that are stored and those that a program adds, or nothing.
std::string difference(std::span<StoredItem const> stored, std::span<std::string const> added);

}  // namespace sinew::sgd
