// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/statistics.hpp"

#include <iomanip>
#include <sstream>

namespace sinew::pmpi {

namespace {

constexpr std::array names{
    "MPI_Allreduce",  "MPI_Reduce",   "MPI_Reduce_scatter", "MPI_Reduce_scatter_block",
    "MPI_Scan",       "MPI_Exscan",   "MPI_Bcast",          "MPI_Allgather",
    "MPI_Allgatherv", "MPI_Gather",   "MPI_Gatherv",        "MPI_Scatter",
    "MPI_Scatterv",   "MPI_Alltoall", "MPI_Alltoallv",      "MPI_Barrier",
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
            << " calls through shared memory, " << std::fixed << std::setprecision(6)
            << static_cast<double>(row[outcomes]) * 1e-9 << " s\n";
        for (std::size_t o = 1; o < outcomes; ++o)
            if (row[o] > 0) out << "sinew:     " << row[o] << " by MPI: " << reasons[o] << '\n';
    }
    if (!any) out << "sinew: none was called\n";
    return out.str();
}

}  // namespace sinew::pmpi
