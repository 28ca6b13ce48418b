// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sinew/comm/transport.hpp>

namespace sinew {

namespace detail {
class MpiLink;
}

/// Transport over MPI point-to-point messages, on a communicator of its own. Calls PMPI names only.
/// Never blocks in MPI: what its constructor does together with the others is polled, with a deadline.
///
/// The transports that `split` makes share that communicator: each has a lane of its tags, and no MPI
/// call is needed to make one. Lanes are never used again, so that a message which nobody received
/// cannot turn up elsewhere; when all are used up (after some 16,000 splits of one communicator and
/// what came of it), or where the library's tags are too few, split makes an MPI communicator, by a
/// call that waits for all members without a deadline.
///
/// MPI can take back a receive but not a send: cancel() leaves a send that has not finished to MPI,
/// which may read its buffer until the receiver takes the message or the process ends. A receive whose
/// message has begun to arrive is waited for 0.1 s; a sender that was stopped and goes on later writes
/// into its buffer even then. `holds_cancelled_buffers` tells that one of the two has happened. After
/// any cancellation, and after abandon(), the MPI communicator is kept: a message that is still under
/// way must not turn up in a later one that gets its number. (So it can with Open MPI 4.1 when a
/// message was sent and never received: receive what was sent before letting a transport go.)
///
/// A message longer than its receive is refused as far as MPI refuses it. Open MPI 4.1 on one host
/// does so for short messages only: above 4 KiB it overruns the buffer, and from a rank to itself it
/// may say nothing. MPICH 4.0 asks the error handler of MPI_COMM_WORLD what to do.
class MpiTransport final : public Transport {
public:
    /// Duplicates `comm`; collective over it. MPI must be initialised, and outlive the transport
    /// (or be finalised by its owner, after which only the destructor may be called). Throws PeerLost
    /// when a process of this host dies meanwhile, Timeout when not all have come within `timeout`.
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
    void abandon() noexcept override;
    std::vector<int> lost() override;
    std::uint64_t free_lane() const override;
    std::unique_ptr<Transport> split(std::span<int const> members, std::uint64_t lane) override;

    /// Of these ranks alone, owned by the transport. Of one that was split the first call makes it:
    /// collective over its members, by a call that waits for all of them without a deadline.
    MPI_Comm native();
    bool has_native() const { return members_.empty() || native_ != MPI_COMM_NULL; }

private:
    /// A lane of `link`'s tags for some of its ranks; lane 0 is for all of them.
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
    std::vector<int> order_;         // positions in members_, by rank of the link
    int rank_ = 0;
    int size_ = 0;
    int first_tag_ = 0;  // of its lane
    int max_tag_ = 0;
    MPI_Comm native_ = MPI_COMM_NULL;  // of a lane, once it was asked for
};

}  // namespace sinew
