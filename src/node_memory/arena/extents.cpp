// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/arena/extents.hpp"

#include <iterator>

namespace sinew::node_memory {

std::optional<std::uint64_t> Extents::take(std::uint64_t bytes, std::uint64_t alignment) {
    for (auto extent = free_.begin(); extent != free_.end(); ++extent) {
        auto const [begin, end] = *extent;
        std::uint64_t const first = (begin + alignment - 1) & ~(alignment - 1);
        if (first < begin || first > end || end - first < bytes) continue;
        if (first == begin) free_.erase(extent);
        else extent->second = first;
        if (first + bytes < end) free_[first + bytes] = end;
        return first;
    }
    return std::nullopt;
}

void Extents::give_back(std::uint64_t offset, std::uint64_t bytes) {
    std::uint64_t end = offset + bytes;
    auto const next = free_.lower_bound(offset);
    if (next != free_.begin()) {
        auto const before = std::prev(next);
        if (before->second == offset) {
            offset = before->first;
            free_.erase(before);
        }
    }
    if (next != free_.end() && next->first == end) {
        end = next->second;
        free_.erase(next);
    }
    free_[offset] = end;
}

}  // namespace sinew::node_memory
