// SPDX-License-Identifier: Apache-2.0
#include "src/pool/scheduler/task_ranges.hpp"

#include <algorithm>

namespace sinew::pool {

void RangeSet::add(TaskRange range) {
    if (range.count == 0) return;
    count_ += range.count;
    // The first range that is below.
    auto below = std::partition_point(ranges_.begin(), ranges_.end(),
                                      [&](TaskRange r) { return r.first > range.first; });
    if (below != ranges_.end() && below->end() == range.first) {
        below->count += range.count;
    } else {
        below = ranges_.insert(below, range);
    }
    if (below != ranges_.begin() && std::prev(below)->first == below->end()) {
        below->count += std::prev(below)->count;
        ranges_.erase(std::prev(below));
    }
}

TaskRange RangeSet::take(std::uint64_t most) {
    auto& lowest = ranges_.back();
    TaskRange const taken{lowest.first, std::min(most, lowest.count)};
    lowest.first += taken.count;
    lowest.count -= taken.count;
    if (lowest.count == 0) ranges_.pop_back();
    count_ -= taken.count;
    return taken;
}

std::vector<TaskRange> RangeSet::take_from(std::uint64_t index) {
    auto const below = std::partition_point(ranges_.begin(), ranges_.end(),
                                            [&](TaskRange r) { return r.first >= index; });
    std::vector<TaskRange> taken(std::make_reverse_iterator(below), ranges_.rend());
    if (below != ranges_.end() && below->end() > index) {
        taken.insert(taken.begin(), {index, below->end() - index});
        below->count = index - below->first;
    }
    ranges_.erase(ranges_.begin(), below);
    for (auto const& range : taken) count_ -= range.count;
    return taken;
}

}  // namespace sinew::pool
