// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/statistics.hpp"

#include <algorithm>
#include <bit>
#include <iomanip>
#include <sstream>

namespace sinew::pmpi {

namespace {

constexpr std::array names{
    "MPI_Allreduce",
    "MPI_Reduce",
    "MPI_Reduce_scatter",
    "MPI_Reduce_scatter_block",
    "MPI_Scan",
    "MPI_Exscan",
    "MPI_Bcast",
    "MPI_Allgather",
    "MPI_Allgatherv",
    "MPI_Gather",
    "MPI_Gatherv",
    "MPI_Scatter",
    "MPI_Scatterv",
    "MPI_Alltoall",
    "MPI_Alltoallv",
    "MPI_Barrier",
    "MPI_Iallreduce",
    "MPI_Ireduce",
    "MPI_Ireduce_scatter",
    "MPI_Ireduce_scatter_block",
    "MPI_Iscan",
    "MPI_Iexscan",
    "MPI_Ibcast",
    "MPI_Iallgather",
    "MPI_Iallgatherv",
    "MPI_Igather",
    "MPI_Igatherv",
    "MPI_Iscatter",
    "MPI_Iscatterv",
    "MPI_Ialltoall",
    "MPI_Ialltoallv",
    "MPI_Ibarrier",
    "MPI_Allreduce_init",
    "MPI_Reduce_init",
    "MPI_Reduce_scatter_init",
    "MPI_Reduce_scatter_block_init",
    "MPI_Scan_init",
    "MPI_Exscan_init",
    "MPI_Bcast_init",
    "MPI_Allgather_init",
    "MPI_Allgatherv_init",
    "MPI_Gather_init",
    "MPI_Gatherv_init",
    "MPI_Scatter_init",
    "MPI_Scatterv_init",
    "MPI_Alltoall_init",
    "MPI_Alltoallv_init",
    "MPI_Barrier_init",
};
static_assert(names.size() == functions);

constexpr std::array reasons{
    "",
    "switched off",
    "the ranks of a node share no memory",
    "communicator on several nodes",
    "communicator of one rank",
    "inter-communicator",
    "no memory left for the communicator",
    "operation not implemented for this type",
    "arguments that MPI refuses",
    "called inside another call",
    "non-blocking, before the first blocking call on the communicator",
    "not blocking, with an operation of the program",
};
static_assert(reasons.size() == outcomes);

}  // namespace

char const* name_of(MpiFunction function) { return names[static_cast<std::size_t>(function)]; }

Statistics::Numbers Statistics::numbers() const {
    Numbers result;
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = counters_[i].load(std::memory_order_relaxed);
    return result;
}

void Statistics::count_time(MpiFunction function, std::size_t bytes, int ranks,
                            Clock::duration time) {
    std::int64_t const nanoseconds =
        std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
    at(function, outcomes).fetch_add(nanoseconds, std::memory_order_relaxed);
    CallClass const one{static_cast<std::int64_t>(function),
                        static_cast<std::int64_t>(std::bit_width(bytes)),
                        ranks,
                        1,
                        static_cast<std::int64_t>(bytes),
                        nanoseconds};
    std::lock_guard const lock(classes_mutex_);
    add(classes_, one);
}

std::vector<Statistics::CallClass> Statistics::classes() const {
    std::vector<CallClass> result;
    std::lock_guard const lock(classes_mutex_);
    for (auto const& [key, one] : classes_) result.push_back(one);
    return result;
}

std::vector<Statistics::CallClass> Statistics::merged(std::vector<CallClass> const& parts) {
    Classes sums;
    for (CallClass const& one : parts) add(sums, one);
    std::vector<CallClass> result;
    for (auto const& [key, one] : sums) result.push_back(one);
    std::ranges::stable_sort(result, std::greater{}, &CallClass::nanoseconds);
    return result;
}

void Statistics::add(Classes& classes, CallClass const& part) {
    auto const [place, first] = classes.try_emplace(part.key(), part);
    if (first) return;
    place->second.calls += part.calls;
    place->second.bytes += part.bytes;
    place->second.nanoseconds += part.nanoseconds;
}

std::string Statistics::table(Numbers const& sums, int ranks) {
    std::ostringstream out;
    out << "sinew: collectives of " << ranks << " ranks, calls and seconds summed over the ranks\n";
    bool any = false;
    for (std::size_t f = 0; f < functions; ++f) {
        std::int64_t const* const row = &sums[f * columns];
        std::int64_t all = 0;
        for (std::size_t o = 0; o < outcomes; ++o) all += row[o];
        if (all == 0) continue;
        any = true;
        out << "sinew: " << std::left << std::setw(24) << names[f] << ' ' << row[0] << " of " << all
            << " calls through shared memory";
        if (row[outcomes] > 0)
            out << ", " << std::fixed << std::setprecision(6)
                << static_cast<double>(row[outcomes]) * 1e-9 << " s";
        out << '\n';
        for (std::size_t o = 1; o < outcomes; ++o)
            if (row[o] > 0) out << "sinew:     " << row[o] << " by MPI: " << reasons[o] << '\n';
    }
    if (!any) out << "sinew: none was called\n";
    return out.str();
}

}  // namespace sinew::pmpi
