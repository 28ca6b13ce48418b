// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sinew {

enum class Collective : std::uint8_t {
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    allgather,
    allgatherv,
    broadcast,
    reduce,
    gather,
    gatherv,
    scatter,
    scatterv,
    alltoall,
    alltoallv,
    scan,
    exscan,
    barrier,
};
inline constexpr int collectives_count = static_cast<int>(Collective::barrier) + 1;

std::string_view name(Collective collective);
/// Whether it combines what the ranks bring: allreduce, reduce, reduce_scatter, scan and their kin.
bool is_reduction(Collective collective);
/// Whether one rank is special: broadcast, reduce, gather(v), scatter(v).
bool is_rooted(Collective collective);
/// Whether the parts of the ranks may differ in length: reduce_scatter, and those that end in v.
bool has_uneven_parts(Collective collective);

/// All algorithms of a collective; any of them may be asked for by CallOptions::algorithm.
std::vector<std::string_view> algorithm_names(Collective collective);

/// What one call may ask for. Must be equal on all ranks.
struct CallOptions {
    /// Name of an algorithm ("ring", "recursive_doubling", ...); empty lets the tuner choose.
    std::string_view algorithm = {};
    /// Deadline of this call; 0 means the communicator's (SINEW_TIMEOUT, 5 minutes by default).
    std::chrono::nanoseconds timeout{0};
};

}  // namespace sinew
