// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <sinew/communicator.hpp>
#include <vector>

namespace sinew::bench {

/// Which memory the vectors of an allreduce lie in.
enum class VectorMemory : std::uint8_t {
    apart,   ///< private: the thread of each processor sees those of its own ranks
    shared,  ///< all threads see all vectors and results
};

/// How long a few processors take for an allreduce, if nothing is lost to waits and context switches: one process has the vectors of all
/// ranks, and a thread on each processor.
///
/// Vectors apart: the threads have equal ranges of ranks. Each adds its vectors to what the thread before it has added up, piece by
/// piece; the last one has the sums, which each copies to its ranks' results. It is the fastest way known that adds in the order of the
/// ranks, since every piece passes between two processors once in each direction. Ranks in processes of their own cannot do as much: they
/// do not see each other's vectors.
///
/// Shared ones: each thread adds a part of all vectors, and stores the sums to all results (InPlaceSums).
struct SumTime {
    std::size_t bytes = 0;  ///< of a vector of f32
    double us = 0;          ///< the median of many sums, in the fastest way
    double live_us = 0;  ///< of shared vectors the same, if each has just been written; else `us`
    std::size_t piece = 0;  ///< bytes; 0: shared vectors
};

/// Measures sums of the vectors of `comm.size()` ranks, of 8 KiB to 64 MiB or `most_bytes` (less if all of them and their results
/// took more than 512 MiB, or a quarter of the free memory), by threads of rank 0 on `processors` processors of those
/// that the ranks may use, all on one machine; the other ranks sleep meanwhile. Collective; every rank gets the same times, none if there are
/// fewer processors, a thread cannot be bound to one, or the vectors are apart and there are no more ranks than processors. Takes a few seconds.
std::vector<SumTime> measure_sum_times(Communicator& comm, int processors, VectorMemory memory,
                                       std::size_t most_bytes = std::size_t{64} << 20);

/// Interpolates the time in us; 0 (nothing known) for vectors shorter than those measured. Longer ones take as
/// long per byte as the longest.
double sum_us(std::vector<SumTime> const& times, double bytes, bool live);

}  // namespace sinew::bench
