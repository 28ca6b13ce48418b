// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "src/comm/node_domains.hpp"
#include "src/node_memory/arena/arena.hpp"
#include "src/pmpi/mpi_abi.hpp"
#include "src/pmpi/statistics.hpp"
#include "src/transport/process_watch.hpp"

namespace sinew::pmpi {

/// What rank 0 of MPI_COMM_WORLD has set; it applies to all ranks.
struct MpiSettings {
    bool off = false;                                              ///< SINEW_MPI_OFF
    bool node_memory = true;                                       ///< SINEW_NODE_MEMORY
    bool statistics = false;                                       ///< SINEW_MPI_STATS
    detail::DomainLevel domains = detail::DomainLevel::automatic;  ///< SINEW_NODE_DOMAINS
    std::int64_t timeout = 0;  ///< SINEW_TIMEOUT in nanoseconds; 0: no deadline

    /// Throws UsageError naming the variable.
    static MpiSettings from_environment();
};

/// What this process shares with the other ranks of its node, from MPI_Init to MPI_Finalize.
class MpiJob {
public:
    /// The job of this process; null before `begin` and after `end`.
    static MpiJob* current();
    /// Collective over MPI_COMM_WORLD, at the end of MPI_Init. Calls MPI, and ends the job with a
    /// message if rank 0's settings are invalid.
    static void begin();
    /// Collective over MPI_COMM_WORLD, at the beginning of MPI_Finalize: waits until all ranks have
    /// called it, so that a process that ends before has failed. Prints the statistics.
    static void end();

    MpiSettings const& settings() const { return settings_; }
    Statistics& statistics() { return statistics_; }
    Statistics const& statistics() const { return statistics_; }
    /// Null if this node's ranks share no memory.
    std::shared_ptr<node_memory::Arena> const& arena() const { return arena_; }
    int rank() const { return rank_; }              ///< in MPI_COMM_WORLD
    int size() const { return size_; }              ///< of MPI_COMM_WORLD
    int local_size() const { return local_size_; }  ///< ranks of this node
    /// The rank in MPI_COMM_WORLD of a rank of this node.
    int world_rank(int local) const { return world_ranks_[static_cast<std::size_t>(local)]; }
    /// The local rank of a rank in MPI_COMM_WORLD that shares the arena; -1 of any other.
    int local_rank_of(int world) const { return local_ranks_[static_cast<std::size_t>(world)]; }
    /// The domains of a communicator's ranks, which have these local ranks.
    detail::NodeDomains domains_of(std::span<int const> local_ranks) const;
    /// Whether this node has more ranks than processors.
    bool crowded() const { return crowded_; }
    /// The ranks of this node, by local rank, whose process has ended.
    std::vector<int> ended() const { return watch_ ? watch_->ended() : std::vector<int>{}; }
    /// Lets MPI make progress with messages that others wait for.
    void progress() const;

    /// Memory that all ranks of the node can read, aligned to a page; null if there is none.
    void* allocate(std::size_t bytes);
    /// Frees what `allocate` has returned. Returns false for other memory.
    static bool free(void* memory);

    // The messages of node_memory::share_arena.
    node_memory::MappingName of_first(node_memory::MappingName name) const;
    std::string first_refusal(std::string const& own) const;

private:
    MpiJob() = default;
    void agree_on_settings();
    void meet_node();
    std::string share_from(node_memory::Source source);
    void print_statistics();

    MpiSettings settings_;
    Statistics statistics_;
    std::shared_ptr<node_memory::Arena> arena_;
    int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
    std::vector<int> world_ranks_;              // by local rank
    std::vector<int> local_ranks_;              // by rank in MPI_COMM_WORLD
    std::vector<detail::Locality> localities_;  // by local rank
    bool crowded_ = false;
    std::optional<ProcessWatch> watch_;
    MPI_Comm node_{};
};

}  // namespace sinew::pmpi
