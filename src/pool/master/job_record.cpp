// SPDX-License-Identifier: Apache-2.0
#include "src/pool/master/job_record.hpp"

#include <algorithm>

namespace sinew::pool {

std::deque<JobRecord::Block>::iterator JobRecord::block_of(std::uint64_t index) {
    return std::prev(std::upper_bound(
        blocks_.begin(), blocks_.end(), index,
        [](std::uint64_t wanted, Block const& block) { return wanted < block.first; }));
}

JobRecord::Arguments JobRecord::arguments(std::uint64_t first, std::uint64_t count) const {
    Arguments found;
    auto block = const_cast<JobRecord*>(this)->block_of(first);
    while (count > 0) {
        auto const offset = first - block->first;
        auto const here = std::min(count, block->arguments->count() - offset);
        auto const bytes = block->arguments->of(offset, here);
        found.parts.push_back(bytes);
        found.keep.push_back(block->arguments);
        found.size += bytes.size();
        first += here;
        count -= here;
        ++block;
    }
    return found;
}

void JobRecord::ended(std::uint64_t first, std::uint64_t count) {
    ended_ += count;
    while (count > 0) {
        auto const block = block_of(first);
        auto const here = std::min(count, block->first + block->arguments->count() - first);
        block->ended += here;
        first += here;
        count -= here;
    }
    while (!blocks_.empty() && blocks_.front().ended == blocks_.front().arguments->count())
        blocks_.pop_front();
}

}  // namespace sinew::pool
