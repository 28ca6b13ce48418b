// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <sinew/comm/algorithm.hpp>
#include <vector>

#include "benchmarks/support/machine/copy_rate.hpp"
#include "benchmarks/support/machine/sum_time.hpp"
#include "benchmarks/support/machine/transfer_time.hpp"

namespace sinew::bench {

/// What the machine could do at best on one node, as measured in the same run.
struct MachineLimits {
    int processors = 0;                 ///< that copy at the same time, one rank on each
    std::vector<CopyRate> copies = {};  ///< of these processors together
    double context_switch_ns = 0;       ///< 0: not known, or not needed (a processor per rank)
    TransferTimes transfers = {};       ///< empty: not known, or buffers are in shared memory
    std::vector<SumTime> sums = {};     ///< the same, of more ranks than processors
};

/// Bytes that the ranks must read and write in total, each its own input and output once: no
/// algorithm does with less, whether buffers are private or shared.
double least_traffic(Collective collective, int ranks, std::size_t bytes);

/// Bytes that each rank must give to others and get from them, in collectives in which all ranks do both (one of a barrier);
/// else 0.
double least_exchanged(Collective collective, int ranks, std::size_t bytes);

/// Bytes that some rank must get from others, or give to them, in collectives with a root and in scans; else 0.
double least_handed_over(Collective collective, int ranks, std::size_t bytes);

/// The least time of a call in us: the traffic at the rate of copying as much, but not less than one
/// transfer of a cache line between two processors (`one_way_ns`; infinity: not known), an exchange or a hand-over of
/// what ranks must give and get, the context switches of the processor with the most ranks, or, of an
/// allreduce with more ranks than processors, what these take without waits and switches. `single`: of a call
/// that begins when all have met, with inputs that their owners have just written, instead of one of many in
/// sequence. Empty if neither a transfer nor a context switch is known.
std::optional<double> least_us(Collective collective, int ranks, std::size_t bytes,
                               MachineLimits const& limits, double one_way_ns, bool single);

}  // namespace sinew::bench
