// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/state/part_content.hpp"

#include <sinew/task/encoding.hpp>

#include "src/base/text.hpp"

namespace sinew::sgd {

void PartContent::describe(std::span<StoredItem const> items) {
    encode(head_, std::uint64_t{items.size()});
    for (StoredItem const& item : items) {
        encode(head_, item.description);
        encode(head_, std::uint64_t{item.bytes.size()});
    }
    pieces_.emplace_back(head_.bytes());
    for (StoredItem const& item : items) pieces_.push_back(item.bytes);
}

std::span<std::byte> PartContent::add(std::size_t bytes) {
    auto& piece = memory_.emplace_back(bytes);
    pieces_.emplace_back(piece);
    return piece;
}

std::vector<std::uint64_t> PartContent::sizes() const {
    std::vector<std::uint64_t> all;
    for (auto const piece : pieces_) all.push_back(piece.size());
    return all;
}

std::vector<StoredItem> items_of(std::span<std::byte const> content) {
    Reader reader(content);
    auto const count = decode<std::uint64_t>(reader);
    std::vector<StoredItem> items;
    std::vector<std::uint64_t> sizes;
    for (std::uint64_t i = 0; i < count; ++i) {
        items.push_back({decode<std::string>(reader), {}});
        sizes.push_back(decode<std::uint64_t>(reader));
    }
    for (std::size_t i = 0; i < items.size(); ++i) items[i].bytes = reader.take(sizes[i]);
    if (reader.left() > 0)
        throw DecodeError(text("a part of a commit has ", reader.left(), " bytes too many"));
    return items;
}

std::string difference(std::span<StoredItem const> stored, std::span<std::string const> added) {
    for (std::size_t i = 0; i < stored.size() || i < added.size(); ++i) {
        if (i == stored.size()) return text("it has no \"", added[i], '"');
        if (i == added.size())
            return text("it has \"", stored[i].description, "\", which the program does not add");
        if (stored[i].description != added[i])
            return text("it has \"", stored[i].description, "\" where the program adds \"",
                        added[i], '"');
    }
    return {};
}

}  // namespace sinew::sgd
