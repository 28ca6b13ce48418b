// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <sinew/comm/transport.hpp>

#include "src/transport/process_watch.hpp"

namespace sinew::detail {

/// A private MPI communicator and the watch over its processes, shared by a MpiTransport and those
/// split from it. Its tags are divided into lanes: the lower half is lane 0, which belongs to all
/// ranks; the upper half holds the other lanes. Any thread that may call MPI may use it.
class MpiLink {
public:
    /// Duplicates `comm`; collective over it. See the constructor of MpiTransport.
    MpiLink(MPI_Comm comm, std::chrono::nanoseconds timeout);
    MpiLink(MpiLink const&) = delete;
    MpiLink& operator=(MpiLink const&) = delete;
    /// Frees the communicator unless it was abandoned or MPI is finalized.
    ~MpiLink();
    /// Makes a communicator of `members`, in their new order, by MPI_Comm_create_group. Collective
    /// over them; waits without a deadline and does not notice the death of a member.
    MPI_Comm create_comm(std::span<int const> members) const;
    /// Does the same and returns a new link over that communicator.
    std::shared_ptr<MpiLink> create_group(std::span<int const> members) const;

    /// The tags of a lane. tags_of() returns nothing if there is no such lane.
    struct Tags {
        int first;
        int count;
    };
    std::optional<Tags> tags_of(std::uint64_t lane) const;
    std::uint64_t free_lane() const { return next_lane_; }
    /// Marks a lane as used: free_lane() returns only higher ones from then on.
    void use_lane(std::uint64_t lane);

    MPI_Comm comm() const { return comm_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    Threading threading() const { return threading_; }
    /// Returns the ranks of this link whose process has ended, in ascending order.
    std::vector<int> ended() const;

    std::atomic<bool> abandoned{false};        ///< MPI must not reuse the context id of comm()
    std::atomic<bool> holds_cancelled{false};  ///< a cancelled transfer was left to MPI

private:
    MpiLink(MPI_Comm comm, std::shared_ptr<ProcessWatch const> watch, std::vector<int> watch_rank);
    void learn();

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 0;
    int tag_limit_ = 0;
    Threading threading_ = Threading::caller;
    std::atomic<std::uint64_t> next_lane_{1};
    std::shared_ptr<ProcessWatch const> watch_;
    std::vector<int> watch_rank_;  // by rank of this link: its rank in watch_
};

}  // namespace sinew::detail
