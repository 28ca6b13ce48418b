// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace sinew {

/// Which threads of a process may call a Transport.
enum class Threading : std::uint8_t {
    caller,  ///< only the thread that created it (MPI below MPI_THREAD_MULTIPLE)
    any,     ///< any thread, also several at the same time
};

inline constexpr int any_source = -1;

/// Moves bytes between the ranks of one group. Collective algorithms rely on nothing else.
///
/// Messages between two ranks with the same tag arrive in the order in which they were started
/// (MPI's non-overtaking rule). Starting a transfer never blocks; completion is polled with `test`,
/// so that transfers overlap each other and the reduction. Implemented over MPI point-to-point,
/// over sockets, and over memory between threads; the conformance suite in tests/transport is the
/// contract. Tickets must be completed or cancelled before the transport is destroyed. Destruction
/// is local.
class Transport {
public:
    /// A transfer in flight. Null after it has completed or was cancelled.
    struct Ticket {
        std::uint64_t handle = 0;
        explicit operator bool() const { return handle != 0; }
    };
    struct Received {
        int source = any_source;
        int tag = 0;
        std::size_t bytes = 0;
    };

    virtual ~Transport() = default;

    virtual int rank() const = 0;
    virtual int size() const = 0;
    virtual std::string_view name() const = 0;
    virtual Threading threading() const = 0;
    /// The largest tag that may be used; at least 32767.
    virtual int max_tag() const = 0;

    /// Starts to send. The bytes must stay in place and unchanged until the ticket is completed; a
    /// null ticket means that the transfer is complete already.
    virtual Ticket start_send(int to, int tag, std::span<std::byte const> bytes) = 0;
    /// Starts to receive. `from` may be any_source. A message longer than `bytes` is a
    /// BackendError; the length of a shorter one is reported by `received` of test().
    virtual Ticket start_receive(int from, int tag, std::span<std::byte> bytes) = 0;
    /// Makes progress and returns true once, when the transfer is complete; the ticket is then
    /// null. Fills `received` for receives. Returns true for a null ticket.
    virtual bool test(Ticket& ticket, Received* received = nullptr) = 0;
    /// Gives up a transfer as far as the medium allows it, so that its buffer is no longer used.
    virtual void cancel(Ticket& ticket) noexcept = 0;
    /// Withdraws a receive that has not matched a message: returns true, and the ticket is null.
    /// Returns false if it has matched one or that is unknown; the ticket and the transfer are
    /// unchanged.
    virtual bool withdraw(Ticket& ticket) noexcept = 0;
    /// Whether the medium may still access the buffer of a cancelled transfer. Once true, it stays
    /// true: memory lent to a cancelled transfer must then never be freed.
    virtual bool holds_cancelled_buffers() const noexcept { return false; }
    /// Returns the message that waits to be received, if there is one, without receiving it. `from`
    /// may be any_source.
    virtual std::optional<Received> probe(int from, int tag) = 0;

    /// Lets the medium progress transfers that others have started over it, such as messages of the
    /// application's own. Called by a rank that waits for something else than a transfer.
    virtual void progress() {}

    /// Called when an operation has failed. Messages that no rank will receive may be in transit;
    /// they must not appear in a transport made later.
    virtual void abandon() noexcept {}

    /// Ranks known to have died, as far as the medium can detect it. Cheap enough to be called
    /// every few ms.
    virtual std::vector<int> lost() = 0;

    /// Whether the ranks that are left can still send to each other after a rank has died.
    virtual bool outlives_ranks() const noexcept { return true; }

    /// The `lane` that this rank proposes for the next split; the members use the largest.
    virtual std::uint64_t free_lane() const { return 0; }
    /// Makes a transport of `members` alone (ranks of this transport, in the new order) with
    /// separate messages. Collective over the members, all of which must be about to call it, and
    /// must have agreed on `lane`: the largest that any of them proposed.
    virtual std::unique_ptr<Transport> split(std::span<int const> members,
                                             std::uint64_t lane = 0) = 0;
};

}  // namespace sinew
