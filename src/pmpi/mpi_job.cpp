// SPDX-License-Identifier: Apache-2.0
#include "src/pmpi/mpi_job.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include <unistd.h>

#include <sinew/error.hpp>

#include "src/base/env.hpp"
#include "src/base/log.hpp"
#include "src/base/system/allowed_cpus.hpp"
#include "src/base/system/processor_groups.hpp"
#include "src/base/text.hpp"
#include "src/comm/processors.hpp"
#include "src/node_memory/arena/share_arena.hpp"
#include "src/pmpi/inside.hpp"
#include "src/pmpi/real.hpp"
#include "src/pmpi/repeated_calls.hpp"

namespace sinew::pmpi {

namespace {

using node_memory::Arena;
using node_memory::MappingName;
using node_memory::Source;

std::atomic<MpiJob*> job{nullptr};

/// What the ranks of a node tell each other. Sent as it is.
struct NodeMember {
    ProcessIdentity process;
    detail::Processors processors;
    detail::Locality locality;
    int world_rank;
};

/// The memory that MPI_Alloc_mem has given away.
struct Allocations {
    std::mutex mutex;
    std::map<void*, std::shared_ptr<void>> by_address;
    std::atomic<std::size_t> count{0};
};
Allocations& allocations() {
    static Allocations& all = *new Allocations;  // may be freed during exit
    return all;
}

/// Where this rank runs, without hwloc: this library is loaded into programs that may have their own.
detail::Locality my_locality() {
    auto const processors = allowed_cpus();
    return detail::Locality::of(processor_groups_of_kernel(processors), processors);
}

int bytes_as_int(std::size_t bytes) { return static_cast<int>(bytes); }

}  // namespace

MpiSettings MpiSettings::from_environment() {
    MpiSettings own;
    own.off = env_flag("SINEW_MPI_OFF", false);
    own.node_memory = env_flag("SINEW_NODE_MEMORY", true);
    own.domains = detail::domain_level(env("SINEW_NODE_DOMAINS").value_or("auto"));
    own.statistics = env_flag("SINEW_MPI_STATS", false);
    own.timeout = env_duration("SINEW_TIMEOUT", std::chrono::nanoseconds{0}).count();
    return own;
}

MpiJob* MpiJob::current() { return job.load(std::memory_order_acquire); }

void MpiJob::begin() {
    if (current() != nullptr) return;
    InsideGuard const guard;
    // Never destroyed: communicators that outlive MPI_Finalize refer to it.
    auto* const fresh = new MpiJob;
    Real const& mpi = real();
    mpi.Comm_rank(MPI_COMM_WORLD, &fresh->rank_);
    mpi.Comm_size(MPI_COMM_WORLD, &fresh->size_);
    fresh->agree_on_settings();
    if (fresh->settings_.statistics) fresh->statistics_.switch_on();
    if (!fresh->settings_.off && fresh->settings_.node_memory && fresh->size_ > 1)
        fresh->meet_node();
    job.store(fresh, std::memory_order_release);
}

void MpiJob::agree_on_settings() {
    Real const& mpi = real();
    std::string refusal;
    try {
        settings_ = MpiSettings::from_environment();
    } catch (UsageError const& error) {
        refusal = error.what();
    }
    // Rank 0's settings count, and so does its refusal: MPI_Abort ends the others.
    if (rank_ == 0 && !refusal.empty()) {
        log_warning(refusal);
        mpi.Abort(MPI_COMM_WORLD, 1);
    }
    if (rank_ != 0 && !refusal.empty())
        log_warning(text("rank ", rank_, ": ", refusal, ". Rank 0's setting applies"));
    mpi.Bcast(&settings_, bytes_as_int(sizeof settings_), MPI_BYTE, 0, MPI_COMM_WORLD);
}

void MpiJob::meet_node() {
    Real const& mpi = real();
    // Of our own, so that its error handler and attributes are not the program's.
    mpi.Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_);
    mpi.Comm_rank(node_, &local_rank_);
    mpi.Comm_size(node_, &local_size_);
    if (local_size_ == 1) return;

    std::vector<NodeMember> all(static_cast<std::size_t>(local_size_));
    NodeMember own{ProcessIdentity::mine(), detail::Processors::mine(), my_locality(), rank_};
    mpi.Allgather(&own, bytes_as_int(sizeof own), MPI_BYTE, all.data(), bytes_as_int(sizeof own),
                  MPI_BYTE, node_);
    std::vector<ProcessIdentity> processes;
    std::vector<detail::Processors> processors;
    for (NodeMember const& one : all) {
        processes.push_back(one.process);
        processors.push_back(one.processors);
        localities_.push_back(one.locality);
        world_ranks_.push_back(one.world_rank);
    }
    NodeLayout layout;
    layout.node_of.assign(all.size(), 0);
    layout.hosts = {""};
    crowded_ = detail::crowded_nodes(processors, layout).front() != 0;
    watch_.emplace(processes, local_rank_);
    local_ranks_.assign(static_cast<std::size_t>(size_), -1);
    for (int local = 0; local < local_size_; ++local)
        local_ranks_[static_cast<std::size_t>(world_rank(local))] = local;

    std::string const first = share_from(Source::memfd);
    if (arena_) return;
    std::string const second = share_from(Source::posix);
    if (!arena_ && local_rank_ == 0)
        log_warning(
            text("the ranks on this node share no memory, so that MPI executes all "
                 "collectives (memfd: ",
                 first, "; /dev/shm: ", second, ")"));
}

detail::NodeDomains MpiJob::domains_of(std::span<int const> local_ranks) const {
    std::vector<detail::Locality> theirs;
    for (int const local : local_ranks)
        theirs.push_back(localities_[static_cast<std::size_t>(local)]);
    return detail::node_domains(theirs, settings_.domains);
}

/// Sets arena_ if all ranks of the node have opened the memory; otherwise returns a reason of the
/// first one that has not.
std::string MpiJob::share_from(Source source) {
    std::string reason;
    arena_ = node_memory::share_arena(source, local_rank_, local_size_, *this, reason);
    return reason;
}

MappingName MpiJob::of_first(MappingName name) const {
    real().Bcast(&name, bytes_as_int(sizeof name), MPI_BYTE, 0, node_);
    return name;
}

std::string MpiJob::first_refusal(std::string const& own) const {
    Real const& mpi = real();
    int const candidate = own.empty() ? local_size_ : local_rank_;
    int failed = 0;
    mpi.Allreduce(&candidate, &failed, 1, MPI_INT, MPI_MIN, node_);
    if (failed == local_size_) return {};
    std::array<char, 200> words{};
    own.copy(words.data(), words.size() - 1);
    mpi.Bcast(words.data(), bytes_as_int(words.size()), MPI_CHAR, failed, node_);
    return text("rank ", world_rank(failed), ": ", words.data());
}

void MpiJob::end() {
    // Calls are repeated through the job.
    if (MpiJob* const still = current(); still != nullptr && still->settings_.statistics)
        still->print_statistics();
    MpiJob* const ending = job.exchange(nullptr, std::memory_order_acq_rel);
    if (ending == nullptr) return;
    InsideGuard const guard;
    if (ending->local_size_ > 1 && ending->ended().empty()) real().Barrier(ending->node_);
    if (ending->node_ != MPI_Comm{}) real().Comm_free(&ending->node_);
}

void MpiJob::print_statistics() {
    statistics_.switch_off();
    if (auto const lost = ended(); !lost.empty()) {
        log_warning(text("rank ", rank_, " prints no statistics, because rank ",
                         world_rank(lost.front()), " has ended without MPI_Finalize"));
        return;
    }
    Statistics::Numbers const own = statistics_.numbers();
    Statistics::Numbers sums{};
    {
        InsideGuard const guard;
        real().Reduce(own.data(), sums.data(), bytes_as_int(own.size()), MPI_INT64_T, MPI_SUM, 0,
                      MPI_COMM_WORLD);
    }
    std::string const saved = time_saved(*this);
    if (rank_ != 0) return;
    std::string const domains =
        arena_ ? text("sinew: domains of rank 0's node: ",
                      detail::node_domains(localities_, settings_.domains).text, '\n')
               : "";
    std::string const lines = Statistics::table(sums, size_) + domains + saved;
    [[maybe_unused]] auto const written = ::write(STDERR_FILENO, lines.data(), lines.size());
}

void MpiJob::progress() const {
    constexpr int unused_tag = 0;  // nobody sends a message in this communicator
    int found = 0;
    real().Iprobe(MPI_ANY_SOURCE, unused_tag, node_, &found, MPI_STATUS_IGNORE);
}

void* MpiJob::allocate(std::size_t bytes) {
    if (!arena_) return nullptr;
    try {
        std::shared_ptr<void> memory = arena_->allocate(bytes);
        Allocations& all = allocations();
        std::lock_guard const lock(all.mutex);
        void* const address = memory.get();
        all.by_address[address] = std::move(memory);
        all.count.fetch_add(1, std::memory_order_relaxed);
        return address;
    } catch (std::bad_alloc const&) {
        return nullptr;  // MPI has other memory
    }
}

bool MpiJob::free(void* memory) {
    Allocations& all = allocations();
    if (all.count.load(std::memory_order_relaxed) == 0) return false;
    std::shared_ptr<void> last;  // freed without the lock
    std::lock_guard const lock(all.mutex);
    auto const found = all.by_address.find(memory);
    if (found == all.by_address.end()) return false;
    last = std::move(found->second);
    all.by_address.erase(found);
    all.count.fetch_sub(1, std::memory_order_relaxed);
    return true;
}

}  // namespace sinew::pmpi
