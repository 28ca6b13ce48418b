// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace sinew::pmpi {

enum class MpiFunction : std::uint8_t {
    allreduce,
    reduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
    bcast,
    allgather,
    allgatherv,
    gather,
    gatherv,
    scatter,
    scatterv,
    alltoall,
    alltoallv,
    barrier,
};
constexpr std::size_t functions = static_cast<std::size_t>(MpiFunction::barrier) + 1;
/// Its name in MPI: "MPI_Allreduce".
char const* name_of(MpiFunction function);

/// What became of a call: it passed through shared memory, or the reason why MPI executed it.
enum class CallOutcome : std::uint8_t {
    taken,
    off,            ///< switched off, or before MPI_Init or after MPI_Finalize
    no_memory,      ///< the ranks of this node share no memory
    several_nodes,  ///< not all ranks of the communicator share this node's memory
    alone,          ///< the communicator has one rank
    inter,          ///< it is an inter-communicator
    no_room,        ///< it has too many ranks, or the memory for it is exhausted
    operation,      ///< the operation is not implemented for this type
    arguments,      ///< MPI would refuse the arguments
    nested,         ///< called by MPI or by this library inside another call
};
constexpr std::size_t outcomes = static_cast<std::size_t>(CallOutcome::nested) + 1;

/// Counts calls, for SINEW_MPI_STATS=1. Thread-safe; counts nothing unless switched on.
class Statistics {
public:
    using Clock = std::chrono::steady_clock;

    void switch_on() { on_ = true; }
    bool on() const { return on_; }
    void count(MpiFunction function, CallOutcome outcome) {
        if (on_) at(function, outcome).fetch_add(1, std::memory_order_relaxed);
    }
    void count_time(MpiFunction function, Clock::duration time) {
        at(function, outcomes)
            .fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count(),
                       std::memory_order_relaxed);
    }

    /// Per function the calls by outcome and, at last, the nanoseconds of those taken.
    static constexpr std::size_t columns = outcomes + 1;
    using Numbers = std::array<std::int64_t, functions * columns>;
    Numbers numbers() const;
    /// The sums over all ranks as lines of text, each with its newline.
    static std::string table(Numbers const& sums, int ranks);

private:
    std::atomic<std::int64_t>& at(MpiFunction function, CallOutcome outcome) {
        return at(function, static_cast<std::size_t>(outcome));
    }
    std::atomic<std::int64_t>& at(MpiFunction function, std::size_t column) {
        return counters_[static_cast<std::size_t>(function) * columns + column];
    }

    bool on_ = false;
    std::array<std::atomic<std::int64_t>, functions * columns> counters_{};
};

}  // namespace sinew::pmpi
