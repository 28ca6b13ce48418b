// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <sinew/comm/buffer.hpp>

#include "src/sgd/state/part_content.hpp"

namespace sinew::sgd {

/// Something that a program adds to its state: elements, or a pair of functions.
struct StateItem {
    using Bytes = std::vector<std::byte>;

    std::string name;
    Buffer elements{nullptr, 0, DataType::Kind::u8};
    std::function<Bytes()> save = {};
    std::function<void(std::span<std::byte const>)> load = {};

    /// "weights: f32 x 4810"; "residuals: bytes".
    std::string description() const;
    std::span<std::byte> bytes() const {
        return {static_cast<std::byte*>(elements.data), elements.bytes()};
    }
    void take(std::span<std::byte const> stored) const;
};

/// Makes the content of a part of these items. Elements are borrowed.
void describe(std::span<StateItem const> items, PartContent& content);

/// Returns the items of a content if they are those that the program adds. Throws UsageError.
std::vector<StoredItem> matching(std::span<std::byte const> content,
                                 std::span<StateItem const> added);

}  // namespace sinew::sgd
