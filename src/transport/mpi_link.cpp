// SPDX-License-Identifier: Apache-2.0
#include "src/transport/mpi_link.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <thread>

#include <sinew/error.hpp>

#include "src/base/retained.hpp"
#include "src/base/system/this_host.hpp"
#include "src/base/text.hpp"
#include "src/base/waiting/polling_pause.hpp"

namespace sinew::detail {

using namespace std::chrono_literals;

namespace {

/// Tags per lane: more than the 32767 that every transport must have.
constexpr int lane_tags = 1 << 16;
constexpr auto look_interval = 5ms;
constexpr auto nap = 50us;
/// Messages that a rank sent before it died may still arrive for this long.
constexpr auto grace_of_the_dead = 200ms;
constexpr int eager_polls = 2000;

/// The memory that MPI writes to while a communicator is made. It is kept until exit after a
/// failure, because MPI keeps the addresses.
struct Meeting {
    ProcessIdentity mine;
    std::vector<ProcessIdentity> all;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
};

struct Joining {
    MPI_Comm comm;
    int rank;
    int size;
    std::chrono::nanoseconds timeout;
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();

    std::string subject() const {
        return text("rank ", rank, " of ", size, " on ", host_name(),
                    ": making a communicator of MPI's");
    }
    void require(int code, char const* operation) const {
        if (code == MPI_SUCCESS) return;
        std::array<char, MPI_MAX_ERROR_STRING> words{};
        int length = 0;
        PMPI_Error_string(code, words.data(), &length);
        throw BackendError(text(subject(), ": ", operation, " failed (", words.data(), ")."), code);
    }
    /// Polls until the request is done. Throws PeerLost if a rank dies, Timeout at the deadline.
    void complete(std::shared_ptr<Meeting> const& meeting, ProcessWatch const* watch) const {
        auto next_look = start;
        std::optional<std::chrono::steady_clock::time_point> given_up;
        for (int polls = 0;; ++polls) {
            int done = 0;
            require(PMPI_Test(&meeting->request, &done, MPI_STATUS_IGNORE), "MPI_Test");
            if (done != 0) return;
            if (polls < eager_polls) pause_between_polls();
            else std::this_thread::sleep_for(nap);
            auto const now = std::chrono::steady_clock::now();
            if (now < next_look) continue;
            next_look = now + look_interval;
            auto const ended = watch != nullptr ? watch->ended() : std::vector<int>{};
            if (!ended.empty() && !given_up) given_up = now + grace_of_the_dead;
            if (ended.empty() ? now - start < timeout : now < *given_up) continue;
            retain_until_exit(meeting);
            if (!ended.empty())
                throw PeerLost(text(subject(), " stopped (rank ", ended.front(), " has died)."));
            throw Timeout(text(subject(), " stopped after ",
                               std::chrono::duration<double>(now - start).count(),
                               " s: not all ranks have reached it. Are they alive, and do all make "
                               "this call? SINEW_TIMEOUT sets the deadline"));
        }
    }
};

}  // namespace

// Uses non-blocking collectives, so that the wait ends if a rank dies or never comes.
MpiLink::MpiLink(MPI_Comm comm, std::chrono::nanoseconds timeout) {
    PMPI_Comm_rank(comm, &rank_);
    PMPI_Comm_size(comm, &size_);
    Joining const joining{comm, rank_, size_, timeout};
    auto const meeting = std::make_shared<Meeting>();
    meeting->mine = ProcessIdentity::mine();
    meeting->all.resize(static_cast<std::size_t>(size_));
    constexpr int bytes = sizeof(ProcessIdentity);
    joining.require(PMPI_Iallgather(&meeting->mine, bytes, MPI_BYTE, meeting->all.data(), bytes,
                                    MPI_BYTE, comm, &meeting->request),
                    "MPI_Iallgather");
    joining.complete(meeting, nullptr);
    watch_ = std::make_shared<ProcessWatch const>(meeting->all, rank_);
    joining.require(PMPI_Comm_idup(comm, &meeting->comm, &meeting->request), "MPI_Comm_idup");
    joining.complete(meeting, watch_.get());
    comm_ = meeting->comm;
    for (int rank = 0; rank < size_; ++rank) watch_rank_.push_back(rank);
    learn();
}

MpiLink::MpiLink(MPI_Comm comm, std::shared_ptr<ProcessWatch const> watch,
                 std::vector<int> watch_rank)
    : comm_(comm), watch_(std::move(watch)), watch_rank_(std::move(watch_rank)) {
    learn();
}

void MpiLink::learn() {
    PMPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(comm_, &rank_);
    PMPI_Comm_size(comm_, &size_);
    int level = MPI_THREAD_SINGLE;
    PMPI_Query_thread(&level);
    threading_ = level == MPI_THREAD_MULTIPLE ? Threading::any : Threading::caller;
    int* upper_bound = nullptr;
    int found = 0;
    PMPI_Comm_get_attr(comm_, MPI_TAG_UB, &upper_bound, &found);
    tag_limit_ = found != 0 ? *upper_bound : 32767;  // the standard's minimum
}

MpiLink::~MpiLink() {
    int finalized = 0;
    PMPI_Finalized(&finalized);
    // Neither Open MPI nor MPICH communicates to free a communicator.
    if (finalized == 0 && !abandoned) PMPI_Comm_free(&comm_);
}

MPI_Comm MpiLink::create_comm(std::span<int const> members) const {
    Joining const joining{comm_, rank_, size_, {}};
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    joining.require(PMPI_Comm_group(comm_, &all), "MPI_Comm_group");
    int code = PMPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group);
    PMPI_Group_free(&all);
    joining.require(code, "MPI_Group_incl");
    code = PMPI_Comm_create_group(comm_, group, 0, &comm);
    PMPI_Group_free(&group);
    joining.require(code, "MPI_Comm_create_group");
    return comm;
}

std::shared_ptr<MpiLink> MpiLink::create_group(std::span<int const> members) const {
    std::vector<int> watch_rank;
    for (int const member : members)
        watch_rank.push_back(watch_rank_.at(static_cast<std::size_t>(member)));
    MPI_Comm const comm = create_comm(members);
    return std::shared_ptr<MpiLink>(new MpiLink(comm, watch_, std::move(watch_rank)));
}

std::optional<MpiLink::Tags> MpiLink::tags_of(std::uint64_t lane) const {
    // With too few tags for two lanes, lane 0 has all of them.
    int const upper = tag_limit_ / lane_tags < 2 ? tag_limit_ : tag_limit_ / 2;
    if (lane == 0) return Tags{0, upper + 1};
    auto const lanes = static_cast<std::uint64_t>((tag_limit_ - upper) / lane_tags);
    if (lane > lanes) return std::nullopt;
    return Tags{upper + 1 + static_cast<int>(lane - 1) * lane_tags, lane_tags};
}

void MpiLink::use_lane(std::uint64_t lane) {
    auto next = next_lane_.load();
    while (next <= lane && !next_lane_.compare_exchange_weak(next, lane + 1)) {}
}

std::vector<int> MpiLink::ended() const {
    std::vector<int> ranks;
    auto const ended = watch_->ended();
    if (ended.empty()) return ranks;
    for (int rank = 0; rank < size_; ++rank)
        if (std::ranges::binary_search(ended, watch_rank_[static_cast<std::size_t>(rank)]))
            ranks.push_back(rank);
    return ranks;
}

}  // namespace sinew::detail
