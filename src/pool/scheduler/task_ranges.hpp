// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace sinew::pool {

struct TaskRange {
    std::uint64_t first = 0, count = 0;
    std::uint64_t end() const { return first + count; }
};

/// Disjoint ranges of indices. Returned indices are mostly neighbours or low, and the lowest is
/// taken first: both are cheap.
class RangeSet {
public:
    /// None of these may be in the set already.
    void add(TaskRange range);
    /// Takes the lowest `most` in a row, or fewer if fewer are in a row. The set must not be empty.
    TaskRange take(std::uint64_t most);
    /// Takes all from `index` on, ascending.
    std::vector<TaskRange> take_from(std::uint64_t index);
    bool empty() const { return ranges_.empty(); }
    std::uint64_t count() const { return count_; }
    std::vector<TaskRange> const& ranges() const { return ranges_; }  ///< the highest first

private:
    std::vector<TaskRange> ranges_;  // the highest first, so that the lowest is at the cheap end
    std::uint64_t count_ = 0;
};

}  // namespace sinew::pool
