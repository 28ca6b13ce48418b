// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include <sinew/comm/transport.hpp>

namespace sinew {

namespace detail {
class MpiLink;
}

/// Transport over MPI point-to-point messages on a private communicator. Calls only PMPI names. The
/// collective steps of the constructor are polled, with a deadline, instead of blocking in MPI.
///
/// The transports that `split` makes share the communicator: each has a lane of its tags, and
/// making one needs no MPI call. Lanes are never reused, so that a message that was never received
/// cannot be matched elsewhere. When all lanes are used (after some 16,000 splits of a communicator
/// and its descendants), or if the library has too few tags, split makes an MPI communicator by a
/// call that waits for all members without a deadline.
///
/// MPI can cancel a receive but not a send. cancel() leaves an unfinished send to MPI, which may
/// read its buffer until the receiver takes the message or the process ends. If the message of a
/// cancelled receive has begun to arrive, cancel() waits 0.1 s for it; a sender that was stopped
/// and continues later still writes into the buffer. `holds_cancelled_buffers` reports that one of
/// the two has happened. After a cancellation or abandon() the MPI communicator is never freed: a
/// message in flight must not be matched in a later communicator with the same context id. (With
/// Open MPI 4.1 this also happens to a message that is never received: receive all before
/// destroying a transport.)
///
/// A message longer than its receive raises an error only as far as MPI reports it. Open MPI 4.1 on
/// one host does so for short messages only: above 4 KiB it overruns the buffer, and a message from
/// a rank to itself may not be reported. MPICH 4.0 calls the error handler of MPI_COMM_WORLD.
class MpiTransport final : public Transport {
public:
    /// Duplicates `comm`; collective over it. MPI must be initialized. After MPI is finalized only
    /// the destructor may be called. Throws PeerLost if a process of this host dies meanwhile,
    /// Timeout if not all ranks have come within `timeout`.
    explicit MpiTransport(MPI_Comm comm,
                          std::chrono::nanoseconds timeout = std::chrono::minutes(5));
    ~MpiTransport() override;
    MpiTransport(MpiTransport const&) = delete;
    MpiTransport& operator=(MpiTransport const&) = delete;

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string_view name() const override { return "mpi"; }
    Threading threading() const override;
    int max_tag() const override { return max_tag_; }

    Ticket start_send(int to, int tag, std::span<std::byte const> bytes) override;
    Ticket start_receive(int from, int tag, std::span<std::byte> bytes) override;
    bool test(Ticket& ticket, Received* received) override;
    void cancel(Ticket& ticket) noexcept override;
    bool withdraw(Ticket& ticket) noexcept override;
    bool holds_cancelled_buffers() const noexcept override;
    std::optional<Received> probe(int from, int tag) override;
    void progress() override;
    void abandon() noexcept override;
    std::vector<int> lost() override;
    bool outlives_ranks() const noexcept override { return false; }
    std::uint64_t free_lane() const override;
    std::unique_ptr<Transport> split(std::span<int const> members, std::uint64_t lane) override;

    /// Returns an MPI communicator of exactly these ranks, owned by the transport. If the transport
    /// has a lane, the first call makes it: collective over the members, and without a deadline.
    MPI_Comm native();
    bool has_native() const { return members_.empty() || native_ != MPI_COMM_NULL; }

private:
    /// Uses a lane of `link`'s tags for some of its ranks; lane 0 is for all of them.
    MpiTransport(std::shared_ptr<detail::MpiLink> link, std::vector<int> members,
                 std::uint64_t lane);
    int in_link(int rank) const {
        return rank < 0 || members_.empty() ? rank : members_[static_cast<std::size_t>(rank)];
    }
    int from_link(int rank) const;
    Received received_of(MPI_Status const& status) const;
    void require(int code, char const* operation) const {
        if (code != MPI_SUCCESS) [[unlikely]]
            fail(code, operation);
    }
    [[noreturn]] void fail(int code, char const* operation) const;
    [[noreturn]] void fail_transfer(int code, bool receive, MPI_Status const& status) const;

    std::shared_ptr<detail::MpiLink> link_;
    MPI_Comm comm_ = MPI_COMM_NULL;  // the link's
    std::vector<int> members_;       // ranks of the link; empty: all of them
    std::vector<int> order_;         // positions in members_, sorted by rank of the link
    int rank_ = 0;
    int size_ = 0;
    int first_tag_ = 0;  // first tag of the lane
    int max_tag_ = 0;
    MPI_Comm native_ = MPI_COMM_NULL;  // made by native() if the transport has a lane
};

}  // namespace sinew
