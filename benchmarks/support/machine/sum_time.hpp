// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <sinew/communicator.hpp>
#include <vector>

namespace sinew::bench {

/// How long a few processors take for an allreduce of more ranks than they are, if nothing is lost to waits and
/// context switches: one process has the vectors of all ranks, and a thread on each processor. The threads
/// have equal ranges of ranks. Each adds its vectors to what the thread before it has added up, piece by
/// piece; the last one has the sums, which each copies to its ranks' results.
///
/// It is the fastest way known that adds in the order of the ranks, since every piece passes between two
/// processors once in each direction. Ranks in processes of their own cannot do as much: they do not see each
/// other's vectors.
struct SumTime {
    std::size_t bytes = 0;  ///< of a vector of f32
    double us =
        0;  ///< the median of many sums, with the best size of a piece and stores of results
    std::size_t piece = 0;  ///< bytes
};

/// Measures sums of the vectors of `comm.size()` ranks, of 8 KiB to 64 MiB or `most_bytes` (less if all of them and their results
/// took more than 512 MiB, or a quarter of the free memory), by threads of rank 0 on `processors` processors of its
/// own; the other ranks wait in `sync`, a barrier. Collective; every rank gets the same times, none if rank 0 may use
/// fewer processors, a thread cannot be bound to one, or there are no more ranks than processors. Takes a few seconds.
std::vector<SumTime> measure_sum_times(Communicator& comm, int processors,
                                       std::function<void()> const& sync,
                                       std::size_t most_bytes = std::size_t{64} << 20);

/// Interpolates the time in us; 0 (nothing known) for vectors shorter than those measured. Longer ones take as
/// long per byte as the longest.
double sum_us(std::vector<SumTime> const& times, double bytes);

}  // namespace sinew::bench
