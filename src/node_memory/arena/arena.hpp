// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "src/node_memory/arena/extents.hpp"
#include "src/node_memory/arena/mapping.hpp"
#include "src/node_memory/room.hpp"

namespace sinew::node_memory {

/// How long messages a room is for: they pass through its rings.
enum class RingSize : std::uint8_t {
    usual,
    least,  ///< the messages are short, or memory is scarce
};

/// Where a room lies, for the other ranks in it. Sent as it is.
struct RoomPlace {
    std::uint64_t offset = 0;  ///< 0: there is no room
    std::uint64_t ring = 0;    ///< bytes of each rank's ring, with the reduction slots of two ranks
};

/// The memory that the ranks of a node share: one mapping in which each rank has a region of its
/// own. A rank allocates in its region without asking the others, and all ranks can access it.
/// Thread-safe.
class Arena final : public Lendable, public std::enable_shared_from_this<Arena> {
public:
    /// Makes the memory of `ranks` ranks, or opens that of the node's first rank, for the rank with
    /// this index on the node. Throws std::system_error or Unavailable.
    static std::shared_ptr<Arena> make(Source source, int ranks);
    static std::shared_ptr<Arena> open(MappingName const& name, int rank, int ranks);

    MappingName const& name() const { return mapping_->name(); }
    /// Called when all ranks have opened the memory.
    void all_have_opened() noexcept { mapping_->unlink(); }

    /// Tries to read the private memory of each rank. Called when all have opened the memory. Returns
    /// why it cannot be done, or nothing.
    std::string refusal_to_read_private() const;
    /// Called if all ranks can do so.
    void read_private_from_now_on() noexcept { reads_private_ = true; }
    bool reads_private() const override { return reads_private_; }

    /// Allocates zeroed memory, aligned to a page, that all ranks of the node can access. From 2 MiB
    /// on all of it is touched, to lie on huge pages. It is freed with the last copy of the pointer.
    /// Throws std::bad_alloc.
    std::shared_ptr<void> allocate(std::size_t bytes);

    /// Called when a collective has failed: a rank that was stopped in it may go on later and write
    /// to buffers of others. From now on memory is not used again after it is freed.
    void retain() noexcept { retains_.store(true, std::memory_order_relaxed); }

    /// Allocates a room for `ranks` ranks; its first rank calls this. Its rings become small
    /// when this process has given away most_room_bytes.
    RoomPlace make_room(int ranks, RingSize size = RingSize::usual) noexcept;
    /// Opens a room that `make_room` has made, here or in another process.
    std::unique_ptr<Room> open_room(RoomPlace const& place, int rank, int ranks);

    std::uint64_t offset_of(void const* data, std::size_t bytes) const override;
    std::byte* at(std::uint64_t offset) const override { return mapping_->data() + offset; }

private:
    static constexpr std::uint64_t most_room_bytes = std::uint64_t{256} << 20;
    /// A room of this process's region that is not freed yet.
    struct RoomRecord {
        std::uint64_t offset, bytes;
        int ranks;
    };

    /// Where a rank says how to read a word of its private memory. Lies in the mapping.
    struct Introduction {
        std::int64_t process;
        std::uint64_t address, value;
    };

    Arena(std::shared_ptr<Mapping> mapping, int rank, int ranks);
    Introduction& introduction_of(int rank) const;
    std::uint64_t take(std::size_t bytes);
    void give_back(std::uint64_t offset, std::uint64_t bytes) noexcept;
    std::uint64_t take_room(int ranks, std::uint64_t ring, bool needed) noexcept;
    /// Frees rooms that all ranks have left, among at most so many that it looks at, in turn.
    void free_empty_rooms(std::size_t most) noexcept;

    std::shared_ptr<Mapping> mapping_;
    int ranks_;
    std::uint64_t probe_ = 0;  ///< read by the others, to find out whether they can
    bool allows_private_, reads_private_ = false;
    std::atomic<bool> retains_{false};
    mutable std::mutex mutex_;
    Extents extents_;                // guarded by mutex_
    std::vector<RoomRecord> rooms_;  // guarded by mutex_
    std::size_t next_room_ = 0;      // to look at; guarded by mutex_
    std::uint64_t room_bytes_ = 0;   // of rooms_; guarded by mutex_
};

}  // namespace sinew::node_memory
