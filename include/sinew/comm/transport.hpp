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
    any,     ///< any thread, at the same time as others
};

inline constexpr int any_source = -1;

/// Bytes between the ranks of one group: all that a collective algorithm may assume.
///
/// Messages between two ranks with the same tag arrive in the order in which they were started
/// (MPI's non-overtaking rule). Starting never blocks; completion is asked for with `test`, so that
/// transfers overlap each other and the reduction. Implemented over MPI point-to-point, over
/// sockets, and over memory between threads; the conformance suite in tests/transport is the contract. Tickets must be
/// done or cancelled before their transport is destroyed, which is local.
class Transport {
public:
    /// A transfer under way. Null after it has completed or was cancelled.
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
    /// Largest tag that may be used; at least 32767.
    virtual int max_tag() const = 0;

    /// The bytes must stay in place and unchanged until the ticket is done. A null ticket: it is.
    virtual Ticket start_send(int to, int tag, std::span<std::byte const> bytes) = 0;
    /// `from` may be any_source. A message longer than `bytes` is a BackendError; a shorter one is
    /// reported by `received`.
    virtual Ticket start_receive(int from, int tag, std::span<std::byte> bytes) = 0;
    /// Makes progress; true once, when the transfer is done (the ticket is then null). Fills
    /// `received` for receives. A null ticket is done.
    virtual bool test(Ticket& ticket, Received* received = nullptr) = 0;
    /// Gives a transfer up, as far as the medium allows, so that its buffer is left alone.
    virtual void cancel(Ticket& ticket) noexcept = 0;
    /// Takes back a receive that has not met its message: true, and the ticket is null. False: it has,
    /// or that cannot be told; the ticket is as it was, and the transfer goes on.
    virtual bool withdraw(Ticket& ticket) noexcept = 0;
    /// Whether the medium may still read or write the buffer of a transfer that was cancelled. Once
    /// true it stays so: memory lent to a cancelled transfer must then never be freed.
    virtual bool holds_cancelled_buffers() const noexcept { return false; }
    /// Whether a message waits to be received, without receiving it. `from` may be any_source.
    virtual std::optional<Received> probe(int from, int tag) = 0;

    /// To be called when an operation has failed: messages may be on their way that nobody will
    /// receive, and must not turn up in a transport that is made later.
    virtual void abandon() noexcept {}

    /// Ranks known to have died, as far as the medium can tell. Cheap enough for every few ms.
    virtual std::vector<int> lost() = 0;

    /// What this rank proposes as the `lane` of the next split; the members take the largest.
    virtual std::uint64_t free_lane() const { return 0; }
    /// A transport of `members` alone (ranks of this one, in the new order), with messages of its
    /// own. Collective over the members, which must all be on their way here already, and have agreed
    /// on `lane`: the largest that any of them proposed.
    virtual std::unique_ptr<Transport> split(std::span<int const> members,
                                             std::uint64_t lane = 0) = 0;
};

}  // namespace sinew
