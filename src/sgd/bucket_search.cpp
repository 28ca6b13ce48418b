// SPDX-License-Identifier: Apache-2.0
#include "src/sgd/bucket_search.hpp"

#include <algorithm>

namespace sinew::sgd {

BucketSearch::BucketSearch(std::size_t first, std::size_t total) : done_(false) {
    sizes_.push_back({first, 0});
    constexpr std::size_t mebibyte = std::size_t{1} << 20;
    for (std::size_t bytes = mebibyte; bytes <= 256 * mebibyte; bytes *= 4) {
        // Every size from `total` on gives one bucket.
        std::size_t const size = std::min(bytes, std::max<std::size_t>(total, 1));
        bool const known =
            std::any_of(sizes_.begin(), sizes_.end(), [&](BucketTiming const& other) {
                return other.bucket_bytes == size || (other.bucket_bytes >= total && size >= total);
            });
        if (!known) sizes_.push_back({size, 0});
    }
}

BucketSearch::Next BucketSearch::add(double seconds) {
    if (done_) return Next::same;
    if (!skipped_) {
        skipped_ = true;
        return Next::same;
    }
    times_.push_back(seconds);
    if (times_.size() < counted) return Next::same;
    std::nth_element(times_.begin(), times_.begin() + counted / 2, times_.end());
    sizes_[current_].seconds = times_[counted / 2];
    times_.clear();
    skipped_ = false;
    if (current_ + 1 == sizes_.size()) return Next::decision;
    ++current_;
    return Next::size;
}

void BucketSearch::decide(std::span<double const> agreed) {
    for (std::size_t i = 0; i < sizes_.size(); ++i) sizes_[i].seconds = agreed[i];
    auto const best = std::min_element(agreed.begin(), agreed.end());
    current_ = static_cast<std::size_t>(best - agreed.begin());
    done_ = true;
}

}  // namespace sinew::sgd
