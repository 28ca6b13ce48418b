// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <sinew/sgd/gradient_buckets.hpp>

namespace sinew::sgd {

/// Decides which bucket size is measured next, and which one is kept. It reads no clock and sends
/// nothing: its user tells how long steps took, and what all ranks agreed on.
class BucketSearch {
public:
    /// Steps that are measured with each size, after one that is not counted: its memory is new.
    static constexpr std::size_t counted = 5;

    /// Nothing to search.
    BucketSearch() = default;
    /// Measures `first`, and 1, 4, 16, 64 and 256 MiB, as far as `total` bytes have more than one such
    /// bucket.
    BucketSearch(std::size_t first, std::size_t total);

    bool done() const { return done_; }
    /// The size of the next step's buckets.
    std::size_t current() const { return sizes_[current_].bucket_bytes; }
    /// The sizes, with the median time of a step for those that were measured.
    std::vector<BucketTiming> const& timings() const { return sizes_; }

    enum class Next { same, size, decision };
    /// Takes the time of a step. Returns whether the next step has the same size, or another one
    /// (`current`), or all sizes were measured and `decide` must follow.
    Next add(double seconds);
    /// Takes the times that all ranks agreed on, in the order of `timings`, and keeps the size of the
    /// shortest, which is `current` from now on.
    void decide(std::span<double const> agreed);

private:
    std::vector<BucketTiming> sizes_;
    std::size_t current_ = 0;
    std::vector<double> times_;  ///< with the current size
    bool skipped_ = false;       ///< the step that is not counted
    bool done_ = true;
};

}  // namespace sinew::sgd
