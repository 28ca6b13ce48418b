// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <sinew/comm/algorithm.hpp>
#include <vector>

#include "benchmarks/collectives/variant.hpp"
#include "benchmarks/support/machine/copy_rate.hpp"
#include "benchmarks/support/sums/sum_time.hpp"

namespace sinew::bench {

/// What the machine could do at best on one node, as measured in the same run.
struct MachineLimits {
    int processors = 0;                 ///< that copy at the same time, one rank on each
    std::vector<CopyRate> copies = {};  ///< of these processors together
    double context_switch_ns = 0;       ///< 0: not known, or not needed (a processor per rank)
    std::vector<SumTime> sums =
        {};  ///< of buffers in shared memory, or of more ranks than processors; else empty
};

/// Bytes that the ranks must read and write in total, each its own input and output once: no
/// algorithm does with less, whether buffers are private or shared.
double least_traffic(Collective collective, int ranks, std::size_t bytes);

/// Bytes that each rank must give to others and get from them, in collectives in which all ranks do both (one of a barrier);
/// else 0.
double least_exchanged(Collective collective, int ranks, std::size_t bytes);

/// Bytes that some rank must get from others, or give to them, in collectives with a root and in scans; else 0.
double least_handed_over(Collective collective, int ranks, std::size_t bytes);

/// Bytes of its own that each rank must copy from its input to its result, by the same processor that gets those of the others.
double least_copied(Collective collective, int ranks, std::size_t bytes);

/// The least time of a call in us, where nothing was timed beside it (BareTransfer): the traffic at the rate of copying as much, or of an allreduce what
/// the sums take without waits and switches, if that was measured; and where all exchange something, the context switches of the processor with the most
/// ranks, which cannot move or sum meanwhile. In a sequence of calls a processor goes once to each of its other ranks per call; in `live` ones it must
/// also come back to the rank that began first. The least time is not less than one transfer of a cache line between two processors (`one_way_ns`;
/// infinity: not known). Empty if neither a transfer nor a context switch is known.
std::optional<double> least_us(Collective collective, int ranks, std::size_t bytes, Variant variant,
                               MachineLimits const& limits, double one_way_ns);

}  // namespace sinew::bench
