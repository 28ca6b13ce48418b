// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <sinew/detail/queue_end.hpp>
#include <span>
#include <vector>

namespace sinew::process {

/// Stores copies of small items in a row: one allocation for many. Items leave a queue in order, so
/// no row is kept alive by one item for long.
class ItemArena {
public:
    detail::QueueItem store(std::span<std::byte const> bytes) {
        if (bytes.size() > size / 4) {
            auto const copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
            return {copy, *copy};
        }
        if (!row_ || row_->capacity() - row_->size() < bytes.size()) {
            row_ = std::make_shared<std::vector<std::byte>>();
            row_->reserve(size);
        }
        auto const at = row_->size();
        row_->insert(row_->end(), bytes.begin(), bytes.end());
        return {row_, std::span(*row_).subspan(at)};
    }

private:
    static constexpr std::size_t size = std::size_t{64} << 10;
    std::shared_ptr<std::vector<std::byte>> row_;
};

}  // namespace sinew::process
