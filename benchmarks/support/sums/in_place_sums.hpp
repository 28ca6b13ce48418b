// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "benchmarks/support/machine/touched_memory.hpp"
#include "collectives/reducer.hpp"

namespace sinew::bench {

/// An allreduce of vectors in memory that all processors share, with nothing around it: the threads of one process, one on each processor, each
/// add a part of all vectors and store the sums to the results of all ranks. The loops are those of the library, which `bench reduce` compares
/// with plain ones.
class InPlaceSums {
public:
    /// `largest`: the bytes of the longest vector. See complete().
    InPlaceSums(std::vector<int> const& processors, int ranks, std::size_t largest);

    /// Whether there was memory for all vectors.
    bool complete() const { return complete_; }

    /// The median time in us of vectors of `bytes`, a multiple of 64: stored through the caches or past them, whichever is faster. 0 if a
    /// thread cannot be bound to its processor. `live`: before each sum, outside the timing, the threads write the vectors of their ranks and
    /// read the results.
    double median_us(std::size_t bytes, bool live) const;

private:
    double median_us(std::size_t bytes, bool live, bool past_caches) const;
    void touch(std::size_t thread, std::size_t bytes) const;
    void add(std::size_t begin, std::size_t bytes, bool past_caches) const;

    std::vector<int> processors_;
    collectives::Reducer sum_;
    std::vector<TouchedMemory> in_, out_;  // by rank
    bool complete_ = true;
};

}  // namespace sinew::bench
