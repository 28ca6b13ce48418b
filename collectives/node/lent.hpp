// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cerrno>
#include <chrono>
#include <string>
#include <system_error>
#include <thread>

#include <unistd.h>

#include <sinew/error.hpp>

#include "collectives/node/node_call.hpp"
#include "src/node_memory/arena/private_memory.hpp"

namespace sinew::collectives::node {

/// From this size on, ranks say whether their buffers lie in shared memory.
inline constexpr std::size_t least_lent_bytes = std::size_t{32} << 10;

/// Where the buffers of a rank lie, for the other ranks of the node; 0: in its private memory.
/// Travels in the lines of the room.
struct Lent {
    std::uint64_t in = 0, out = 0;

    static Lent of(Room const& room, void const* in, void const* out, std::size_t bytes) {
        auto const* const lendable = room.lendable();
        if (lendable == nullptr) return {};
        return {in == nullptr ? 0 : lendable->offset_of(in, bytes),
                out == nullptr ? 0 : lendable->offset_of(out, bytes)};
    }
    /// What `rank` has published. Requires: its line has arrived.
    static Lent of(NodeCall const& call, int rank) {
        Lent lent;
        std::memcpy(&lent, call.room.line_of(rank), sizeof lent);
        return lent;
    }
    void publish(NodeCall const& call) const {
        std::memcpy(call.room.line(call.waiter), this, sizeof *this);
        call.room.publish_line();
    }
};

/// A buffer that a rank lends to others for one call: they read it where it lies, in shared memory or
/// in the rank's private memory. The rank must not return before they have.
class BorrowableBlock {
public:
    /// What a rank chooses from for private buffers of at most this size. All sizes of a class have
    /// the same choice. It suits calls in which all wait for all: to lend lengthens the owner's own
    /// call, so where it need not wait it could not measure what is better for all.
    static StoreChoice::Choice choice(Room const& room, std::size_t bytes) {
        // Below it, the system calls take longer than the copy that they save.
        std::size_t const least = std::size_t{room.size() == 2 ? 32u : 64u} << 10;
        bool const lending = std::bit_floor(bytes) >= least && room.lendable() != nullptr &&
                             room.lendable()->reads_private();
        return lending ? StoreChoice::Choice::lending : StoreChoice::Choice::slots;
    }
    /// Whether a rank lends its private memory, too.
    enum class Private : std::uint8_t {
        no,
        if_readable,  ///< if it can read it itself by the kernel, as others will
        untried,      ///< the caller has tried, or the reader says whether it could (try_read)
    };
    static Private private_if(bool lends) { return lends ? Private::if_readable : Private::no; }
    /// Lends a buffer of this rank if it lies in shared memory, or as `of_private` says.
    static BorrowableBlock of(Room const& room, void const* data, std::size_t bytes,
                              Private of_private) {
        BorrowableBlock lent;
        if (room.lendable() == nullptr || bytes < least_lent_bytes) return lent;
        lent.place_ = room.lendable()->offset_of(data, bytes);
        if (lent.place_ != 0 || of_private == Private::no) return lent;
        if (of_private == Private::if_readable && !node_memory::is_readable_privately(data, bytes))
            return lent;
        lent.place_ = reinterpret_cast<std::uint64_t>(data);
        lent.process_ = ::getpid();
        return lent;
    }
    bool is_lent() const { return place_ != 0; }

    /// Writes it where other ranks read it, for the current operation.
    void write(NodeCall const& call, std::byte* to, std::size_t bytes) const {
        BorrowableBlock checked = *this;
        checked.check_ = checksum(call, bytes);
        std::memcpy(to, &checked, sizeof checked);
    }
    /// What `owner` has written. Calls `Waiter::refuse` if it means another size, or another thing.
    static BorrowableBlock from(NodeCall const& call, int owner, std::byte const* at,
                                std::size_t bytes) {
        BorrowableBlock lent;
        std::memcpy(&lent, at, sizeof lent);
        if (lent.check_ != lent.checksum(call, bytes)) call.waiter.refuse(owner);
        return lent;
    }
    /// Copies what `owner` has lent, from `offset` on.
    void read(NodeCall const& call, int owner, std::byte* to, std::size_t bytes,
              std::size_t offset = 0) const {
        int const error = copy(call, to, bytes, offset);
        if (error == 0) return;
        await_failure(call, owner, error == ESRCH);
        throw BackendError("the memory of rank " + std::to_string(owner) + " (process " +
                               std::to_string(process_) + ") cannot be read any more: " +
                               std::generic_category().message(error) +
                               ". SINEW_SINGLE_COPY=0 does without",
                           error);
    }

    /// The same of a block that was only offered. Returns false if the kernel does not permit to read it, as of mapped
    /// memory of a device; then some of it may have been copied.
    bool try_read(NodeCall const& call, int owner, std::byte* to, std::size_t bytes) const {
        int const error = copy(call, to, bytes, 0);
        if (error == ESRCH) await_failure(call, owner, true);
        return error == 0;
    }

private:
    int copy(NodeCall const& call, std::byte* to, std::size_t bytes, std::size_t offset) const {
        if (process_ != 0) return node_memory::read_private(process_, place_ + offset, to, bytes);
        std::memcpy(to, call.room.lendable()->at(place_) + offset, bytes);
        return 0;
    }

    /// The owner has ended, or its buffer is gone because the call has failed there, which the wait
    /// finds out and throws. Returns after a while if not, unless that is `certain`.
    static void await_failure(NodeCall const& call, int owner, bool certain) {
        auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        for (int round = 0; certain || std::chrono::steady_clock::now() < until; ++round)
            std::this_thread::sleep_for(call.waiter.idle(round, owner));
    }

    std::uint32_t checksum(NodeCall const& call, std::size_t bytes) const {
        std::uint64_t const mixed =
            (place_ + 1) * 0x9E3779B97F4A7C15u ^ (bytes + 1) * 0xC2B2AE3D27D4EB4Fu ^
            (call.room.operation() + static_cast<std::uint32_t>(process_)) * 0x165667B19E3779F9u;
        return static_cast<std::uint32_t>(mixed >> 32);
    }

    std::uint64_t place_ = 0;   ///< offset in shared memory, or address in `process_`; 0: not lent
    std::int32_t process_ = 0;  ///< whose private memory it is; 0: it is shared
    std::uint32_t check_ = 0;
};

}  // namespace sinew::collectives::node
