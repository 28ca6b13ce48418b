// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/limit.hpp"

#include <algorithm>
#include <cmath>

namespace sinew::bench {

double least_traffic(Collective collective, int ranks, std::size_t bytes) {
    double const vector = static_cast<double>(bytes);
    switch (collective) {
        case Collective::allreduce:
        case Collective::alltoall:
        case Collective::alltoallv:
        case Collective::scan:
            return 2 * ranks * vector;  // every rank reads a vector and writes one
        case Collective::exscan:
            return 2 * (ranks - 1) * vector;
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block:
        case Collective::allgather:
        case Collective::allgatherv:
        case Collective::reduce:
            return (ranks + 1) * vector;  // one side has a vector per rank, the other one in total
        case Collective::broadcast:
            return ranks * vector;  // the root reads it, the others write it
        case Collective::gather:
        case Collective::gatherv:
        case Collective::scatter:
        case Collective::scatterv:
            return 2 * vector;
        case Collective::barrier:
            return 0;
    }
    return 0;
}

double least_exchanged(Collective collective, int ranks, std::size_t bytes) {
    double const vector = static_cast<double>(bytes);
    switch (collective) {
        case Collective::allreduce:
            return vector;  // what the others have added to each element
        case Collective::reduce_scatter:
        case Collective::reduce_scatter_block:
            return vector / ranks;
        case Collective::allgather:
        case Collective::allgatherv:
        case Collective::alltoall:
        case Collective::alltoallv:
            return vector * (ranks - 1) / ranks;
        case Collective::barrier:
            return ranks > 1 ? 1 : 0;
        default:
            return 0;
    }
}

double least_handed_over(Collective collective, int ranks, std::size_t bytes) {
    double const vector = ranks > 1 ? static_cast<double>(bytes) : 0;
    switch (collective) {
        case Collective::broadcast:
        case Collective::reduce:
        case Collective::scan:
        case Collective::exscan:
            return vector;
        case Collective::gather:
        case Collective::gatherv:
        case Collective::scatter:
        case Collective::scatterv:
            return vector * (ranks - 1) / ranks;
        default:
            return 0;
    }
}

double least_copied(Collective collective, int ranks, std::size_t bytes) {
    switch (collective) {
        case Collective::allgather:
        case Collective::allgatherv:
        case Collective::alltoall:
        case Collective::alltoallv:
            return static_cast<double>(bytes) / ranks;
        default:
            return 0;
    }
}

std::optional<double> least_us(Collective collective, int ranks, std::size_t bytes, Variant variant,
                               MachineLimits const& limits, double one_way_ns) {
    double const traffic = least_traffic(collective, ranks, bytes);
    int const processors = std::clamp(limits.processors, 1, ranks);
    double const rate = rate_at(limits.copies, traffic / processors);
    double const moving = rate > 0 ? traffic / rate * 1e6 : 0;
    bool const live = variant == Variant::live,
               exchanges = least_exchanged(collective, ranks, bytes) > 0;
    int const on_one = (ranks + processors - 1) / processors;
    int const switches = on_one == 1 ? 0 : on_one - 1 + (live && exchanges ? 1 : 0);
    double const switching = switches * limits.context_switch_ns * 1e-3;
    if (!std::isfinite(one_way_ns) && switching <= 0) return {};
    double const passing = std::isfinite(one_way_ns) ? one_way_ns * 1e-3 : 0;
    double const summing = collective == Collective::allreduce
                               ? sum_us(limits.sums, static_cast<double>(bytes), live)
                               : 0;
    double const work = summing > 0 ? summing : moving;
    // The same processors work and switch. One that only gets from others or gives to them may run ahead.
    if (exchanges) return std::max(work + switching, passing);
    return std::max({work, passing, switching});
}

}  // namespace sinew::bench
