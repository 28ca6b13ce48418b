// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

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
    iallreduce,
    ireduce,
    ireduce_scatter,
    ireduce_scatter_block,
    iscan,
    iexscan,
    ibcast,
    iallgather,
    iallgatherv,
    igather,
    igatherv,
    iscatter,
    iscatterv,
    ialltoall,
    ialltoallv,
    ibarrier,
    allreduce_init,
    reduce_init,
    reduce_scatter_init,
    reduce_scatter_block_init,
    scan_init,
    exscan_init,
    bcast_init,
    allgather_init,
    allgatherv_init,
    gather_init,
    gatherv_init,
    scatter_init,
    scatterv_init,
    alltoall_init,
    alltoallv_init,
    barrier_init,
};
constexpr std::size_t functions = static_cast<std::size_t>(MpiFunction::barrier_init) + 1;
/// The other forms of a blocking collective.
constexpr MpiFunction non_blocking_form(MpiFunction blocking) {
    constexpr int to_non_blocking = static_cast<int>(MpiFunction::iallreduce);
    return static_cast<MpiFunction>(static_cast<int>(blocking) + to_non_blocking);
}
constexpr MpiFunction persistent_form(MpiFunction blocking) {
    constexpr int to_persistent = static_cast<int>(MpiFunction::allreduce_init);
    return static_cast<MpiFunction>(static_cast<int>(blocking) + to_persistent);
}
static_assert(non_blocking_form(MpiFunction::barrier) == MpiFunction::ibarrier);
static_assert(persistent_form(MpiFunction::barrier) == MpiFunction::barrier_init);
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
    early,          ///< non-blocking, before the first blocking call on the communicator
    of_program,     ///< not blocking, with an operation of the program
    in_background,  ///< cannot be posted, as it is longer or not all ranks know its length; never counted
};
constexpr std::size_t outcomes = static_cast<std::size_t>(CallOutcome::in_background);

/// Counts calls, for SINEW_MPI_STATS=1. Thread-safe; counts nothing unless switched on.
class Statistics {
public:
    using Clock = std::chrono::steady_clock;

    void switch_on() { on_ = true; }
    void switch_off() { on_ = false; }
    bool on() const { return on_; }
    void count(MpiFunction function, CallOutcome outcome) {
        if (on_) at(function, outcome).fetch_add(1, std::memory_order_relaxed);
    }
    /// Counts the time of a call that was taken, in which this rank's message had `bytes`.
    void count_time(MpiFunction function, std::size_t bytes, int ranks, Clock::duration time);

    /// Per function the calls by outcome and, at last, the nanoseconds of those taken.
    static constexpr std::size_t columns = outcomes + 1;
    using Numbers = std::array<std::int64_t, functions * columns>;
    Numbers numbers() const;
    /// The sums over all ranks as lines of text, each with its newline.
    static std::string table(Numbers const& sums, int ranks);

    /// The calls of one function with messages of similar size on communicators of equal size.
    /// Sent as it is.
    struct CallClass {
        std::int64_t function = 0;      ///< an MpiFunction
        std::int64_t binary_order = 0;  ///< bits of the number of bytes; 0 of no bytes
        std::int64_t ranks = 0;         ///< of the communicator
        std::int64_t calls = 0;
        std::int64_t bytes = 0;  ///< of this rank's messages, in all calls
        std::int64_t nanoseconds = 0;

        auto key() const { return std::tuple(function, binary_order, ranks); }
    };
    std::vector<CallClass> classes() const;
    /// One class for those of equal keys, the one with the most time first.
    static std::vector<CallClass> merged(std::vector<CallClass> const& parts);

private:
    using Classes = std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, CallClass>;
    static void add(Classes& classes, CallClass const& part);
    std::atomic<std::int64_t>& at(MpiFunction function, CallOutcome outcome) {
        return at(function, static_cast<std::size_t>(outcome));
    }
    std::atomic<std::int64_t>& at(MpiFunction function, std::size_t column) {
        return counters_[static_cast<std::size_t>(function) * columns + column];
    }

    bool on_ = false;
    std::array<std::atomic<std::int64_t>, functions * columns> counters_{};
    std::mutex mutable classes_mutex_;
    Classes classes_;
};

}  // namespace sinew::pmpi
