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

/// An MPI communicator of our own, and what is known of its processes: what a MpiTransport shares with
/// those split from it. Its tags are cut into lanes: the lower half is lane 0, which all ranks have,
/// the upper half holds the others. Any thread that may call MPI.
class MpiLink {
public:
    /// Duplicates `comm`, together with all its ranks; see the constructor of MpiTransport.
    MpiLink(MPI_Comm comm, std::chrono::nanoseconds timeout);
    MpiLink(MpiLink const&) = delete;
    MpiLink& operator=(MpiLink const&) = delete;
    /// Frees the communicator unless it was abandoned or MPI is finalised.
    ~MpiLink();
    /// A communicator of some ranks, by MPI_Comm_create_group: waits for all of them without a
    /// deadline, and without noticing that one dies. `members` in their new order.
    MPI_Comm create_comm(std::span<int const> members) const;
    /// The same as a link of its own.
    std::shared_ptr<MpiLink> create_group(std::span<int const> members) const;

    /// The tags of a lane; nothing when there are no more lanes.
    struct Tags {
        int first;
        int count;
    };
    std::optional<Tags> tags_of(std::uint64_t lane) const;
    std::uint64_t free_lane() const { return next_lane_; }
    /// It is in use: this rank will propose higher ones only.
    void use_lane(std::uint64_t lane);

    MPI_Comm comm() const { return comm_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    Threading threading() const { return threading_; }
    /// Ranks of this link whose process has ended, in rising order.
    std::vector<int> ended() const;

    std::atomic<bool> abandoned{false};        ///< the number of comm() may not be used again
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
    std::vector<int> watch_rank_;  // this link's ranks as the watch numbers them
};

}  // namespace sinew::detail
