// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sinew/transport.hpp>

namespace sinew {

class ProcessWatch;

/// Transport over MPI point-to-point messages, on a communicator of its own. Calls PMPI names only,
/// and never blocks in MPI except while it is made (constructor, split: collective).
///
/// MPI can take back a receive but not a send: cancel() leaves a send that has not finished to MPI,
/// which may read its buffer until the receiver takes the message or the process ends. A receive whose
/// message has begun to arrive is waited for 0.1 s; a sender that was stopped and goes on later writes
/// into its buffer even then. `holds_cancelled_buffers` tells that one of the two has happened. After any
/// cancellation, and after abandon(), the destructor keeps the communicator: a message that is still under way must
/// not turn up in a later one that gets its number. (So it can with Open MPI 4.1 when a message was
/// sent and never received: receive what was sent before letting a transport go.)
///
/// A message longer than its receive is refused as far as MPI refuses it. Open MPI 4.1 on one host
/// does so for short messages only: above 4 KiB it overruns the buffer, and from a rank to itself it
/// may say nothing. MPICH 4.0 asks the error handler of MPI_COMM_WORLD what to do.
class MpiTransport final : public Transport {
public:
    /// Duplicates `comm`; collective over it. MPI must be initialised, and outlive the transport
    /// (or be finalised by its owner, after which only the destructor may be called).
    explicit MpiTransport(MPI_Comm comm);
    ~MpiTransport() override;
    MpiTransport(MpiTransport const&) = delete;
    MpiTransport& operator=(MpiTransport const&) = delete;

    int rank() const override { return rank_; }
    int size() const override { return size_; }
    std::string_view name() const override { return "mpi"; }
    Threading threading() const override { return threading_; }
    int max_tag() const override { return max_tag_; }

    Ticket start_send(int to, int tag, std::span<std::byte const> bytes) override;
    Ticket start_receive(int from, int tag, std::span<std::byte> bytes) override;
    bool test(Ticket& ticket, Received* received) override;
    void cancel(Ticket& ticket) noexcept override;
    bool holds_cancelled_buffers() const noexcept override { return holds_cancelled_; }
    std::optional<Received> probe(int from, int tag) override;
    void abandon() noexcept override { abandoned_ = true; }
    std::vector<int> lost() override;
    std::unique_ptr<Transport> split(std::span<int const> members) override;

    /// Owned by the transport.
    MPI_Comm native() const { return comm_; }

private:
    struct Adopt {};
    /// Takes over `comm`, which is its own already.
    MpiTransport(Adopt, MPI_Comm comm, std::shared_ptr<ProcessWatch const> watch,
                 std::vector<int> watch_rank);
    void learn();
    void require(int code, char const* operation) const {
        if (code != MPI_SUCCESS) [[unlikely]]
            fail(code, operation, "");
    }
    [[noreturn]] void fail(int code, char const* operation, std::string const& details) const;
    [[noreturn]] void fail_transfer(int code, bool receive, MPI_Status const& status) const;

    MPI_Comm comm_ = MPI_COMM_NULL;
    int rank_ = 0;
    int size_ = 0;
    int max_tag_ = 0;
    Threading threading_ = Threading::caller;
    std::atomic<bool> holds_cancelled_{false};  // a cancelled transfer was left to MPI
    std::atomic<bool> abandoned_{false};        // the number of comm_ may not be used again
    std::shared_ptr<ProcessWatch const> watch_;
    std::vector<int> watch_rank_;  // this transport's ranks as the watch numbers them
};

}  // namespace sinew
