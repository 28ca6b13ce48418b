// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/arena/arena.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <new>
#include <system_error>

#include "src/base/env.hpp"
#include "src/node_memory/arena/private_memory.hpp"

namespace sinew::node_memory {

namespace {

constexpr std::uint64_t page = 4096, huge_page = std::uint64_t{2} << 20;

/// The size of a rank's region. Only address space, as long as nothing is written there.
std::uint64_t region_bytes(Source source, int ranks) {
    constexpr std::uint64_t least = std::uint64_t{256} << 20;
    constexpr std::uint64_t most_of_all = std::uint64_t{1} << 45;
    rlimit space{}, file{};
    ::getrlimit(RLIMIT_AS, &space);
    ::getrlimit(RLIMIT_FSIZE, &file);
    if (source == Source::posix || space.rlim_cur != RLIM_INFINITY ||
        file.rlim_cur != RLIM_INFINITY)
        return least / 4;
    auto const memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    std::uint64_t const bytes =
        std::min(std::max(memory, least), most_of_all / static_cast<std::uint64_t>(ranks));
    return bytes / huge_page * huge_page;
}

/// What the ranks write to the mapping's first huge page, behind its first page.
constexpr int most_introductions = 4096;
constexpr std::uint64_t introductions_bytes = 24 * std::uint64_t{most_introductions};

std::uint64_t rounded(std::uint64_t bytes) { return (bytes + page - 1) / page * page; }

/// The ring of each rank of a room: four times its second-level cache, of which the blocks of pipelined
/// rounds are parts (Room::block); less if there are so many ranks that the room would need more than
/// 64 MiB. Short reservations use, and so touch, the first few parts of it only.
std::uint64_t ring_for(int ranks) {
    constexpr std::uint64_t least = std::uint64_t{2} << 20, most = std::uint64_t{16} << 20;
    constexpr std::uint64_t usual_cache = std::uint64_t{1} << 20, all = std::uint64_t{64} << 20;
    long const known = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
    std::uint64_t const cache = known > 0 ? static_cast<std::uint64_t>(known) : usual_cache;
    return std::min(all / static_cast<std::uint64_t>(ranks) / page * page,
                    std::clamp(4 * cache / page * page, least, most));
}

/// The ring when memory is scarce: a block has 1 KiB.
std::uint64_t least_ring_for(int ranks) {
    return std::max<std::uint64_t>(Room::depth * (static_cast<std::uint64_t>(ranks) + 1) * 1024,
                                   std::uint64_t{64} << 10);
}

/// Touches the memory, so that it lies near this rank, and makes the kernel use huge pages for it as
/// far as it has any: most systems do so for shared memory only on demand (since Linux 6.1).
void use_huge_pages(std::byte* memory, std::uint64_t bytes) {
    constexpr int collapse = 25;  // MADV_COLLAPSE, which the C library may not know yet
    for (std::uint64_t at = 0; at < bytes; at += page)
        static_cast<std::byte volatile*>(memory)[at] = std::byte{0};
    ::madvise(memory, bytes / huge_page * huge_page, collapse);
}

}  // namespace

Arena::Arena(std::shared_ptr<Mapping> mapping, int rank, int ranks)
    : mapping_(std::move(mapping)), ranks_(ranks),
      allows_private_(env_flag("SINEW_SINGLE_COPY", true)), extents_(0, 0) {
    // The first huge page holds the nonce and the introductions; offset 0 means no memory.
    std::uint64_t const region =
        (mapping_->bytes() - huge_page) / static_cast<std::uint64_t>(ranks) / huge_page * huge_page;
    std::uint64_t const begin = huge_page + static_cast<std::uint64_t>(rank) * region;
    extents_ = Extents(begin, begin + region);
    if (rank == 0) mapping_->reserve(page, introductions_bytes);
    if (rank >= most_introductions) return;
    auto const address = reinterpret_cast<std::uint64_t>(&probe_);
    auto const now = std::chrono::steady_clock::now().time_since_epoch().count();
    probe_ = (address ^ static_cast<std::uint64_t>(now)) * 0x9E3779B97F4A7C15u | 1;
    introduction_of(rank) = {.process = ::getpid(), .address = address, .value = probe_};
}

Arena::Introduction& Arena::introduction_of(int rank) const {
    static_assert(most_introductions * sizeof(Introduction) <= introductions_bytes);
    return reinterpret_cast<Introduction*>(at(page))[rank];
}

std::string Arena::refusal_to_read_private() const {
    if (!allows_private_) return "SINEW_SINGLE_COPY=0";
    if (ranks_ > most_introductions) return "too many ranks";
    for (int rank = 0; rank < ranks_; ++rank) {
        Introduction const& other = introduction_of(rank);
        std::uint64_t value = 0;
        int const error =
            read_private(static_cast<pid_t>(other.process), other.address, &value, sizeof value);
        if (error != 0) return std::generic_category().message(error);
        if (value != other.value) return "process numbers differ between the ranks";
    }
    return {};
}

std::shared_ptr<Arena> Arena::make(Source source, int ranks) {
    auto const bytes = huge_page + static_cast<std::uint64_t>(ranks) * region_bytes(source, ranks);
    return std::shared_ptr<Arena>(new Arena(Mapping::make(source, bytes), 0, ranks));
}

std::shared_ptr<Arena> Arena::open(MappingName const& name, int rank, int ranks) {
    return std::shared_ptr<Arena>(new Arena(Mapping::open(name), rank, ranks));
}

std::uint64_t Arena::take(std::size_t bytes) {
    if (bytes > mapping_->bytes()) throw std::bad_alloc();  // rounding may overflow
    std::lock_guard const lock(mutex_);
    auto const alignment = bytes >= huge_page ? huge_page : page;
    auto const offset = extents_.take(rounded(bytes), alignment);
    if (!offset) throw std::bad_alloc();
    try {
        mapping_->reserve(*offset, rounded(bytes));
    } catch (std::system_error const&) {
        extents_.give_back(*offset, rounded(bytes));
        throw std::bad_alloc();
    }
    return *offset;
}

void Arena::give_back(std::uint64_t offset, std::uint64_t bytes) noexcept {
    if (retains_.load(std::memory_order_relaxed)) return;
    mapping_->clear(offset, rounded(bytes));
    std::lock_guard const lock(mutex_);
    extents_.give_back(offset, rounded(bytes));
}

std::shared_ptr<void> Arena::allocate(std::size_t bytes) {
    bytes = std::max<std::size_t>(bytes, 1);
    std::uint64_t const offset = take(bytes);
    std::shared_ptr<void> memory(at(offset), [self = shared_from_this(), offset, bytes](void*) {
        self->give_back(offset, bytes);
    });
    if (bytes >= huge_page) use_huge_pages(at(offset), rounded(bytes));
    return memory;
}

void Arena::free_empty_rooms(std::size_t most) noexcept {
    std::vector<RoomRecord> empty;
    {
        std::lock_guard const lock(mutex_);
        for (std::size_t left = std::min(most, rooms_.size()); left > 0; --left) {
            if (next_room_ >= rooms_.size()) next_room_ = 0;
            RoomRecord& room = rooms_[next_room_];
            if (!Room::left_by_all(at(room.offset), room.ranks)) {
                ++next_room_;
                continue;
            }
            room_bytes_ -= room.bytes;
            empty.push_back(room);
            room = rooms_.back();
            rooms_.pop_back();
        }
    }
    for (RoomRecord const& room : empty) give_back(room.offset, room.bytes);
}

RoomPlace Arena::make_room(int ranks, RingSize size) noexcept {
    if (ranks > Room::most_ranks) return {};
    std::uint64_t const least = std::min(least_ring_for(ranks), ring_for(ranks));
    std::uint64_t const usual = size == RingSize::usual ? ring_for(ranks) : least;
    for (bool const again : {false, true}) {
        // A few of many, so that the time does not depend on how many there are.
        constexpr std::size_t a_few = 16;
        free_empty_rooms(again ? std::numeric_limits<std::size_t>::max() : a_few);
        for (std::uint64_t const ring : {usual, least})
            if (auto const offset = take_room(ranks, ring, ring == least))
                return {.offset = offset, .ring = ring};
    }
    return {};
}

/// Returns 0 if there is no memory, or if there are many rooms and this one need not be.
std::uint64_t Arena::take_room(int ranks, std::uint64_t ring, bool needed) noexcept {
    std::uint64_t const bytes = Room::bytes(ranks, ring);
    std::uint64_t offset = 0;
    try {
        {
            std::lock_guard const lock(mutex_);
            if (!needed && room_bytes_ + bytes > most_room_bytes) return 0;
        }
        offset = take(bytes);
        std::lock_guard const lock(mutex_);
        rooms_.push_back({offset, bytes, ranks});
        room_bytes_ += bytes;
        return offset;
    } catch (std::bad_alloc const&) {
        if (offset != 0) give_back(offset, bytes);
        return 0;
    }
}

std::unique_ptr<Room> Arena::open_room(RoomPlace const& place, int rank, int ranks) {
    std::shared_ptr<void> memory(shared_from_this(), at(place.offset));
    return std::make_unique<Room>(std::move(memory), rank, ranks, place.ring, this);
}

std::uint64_t Arena::offset_of(void const* data, std::size_t bytes) const {
    auto const first = reinterpret_cast<std::uintptr_t>(data);
    auto const begin = reinterpret_cast<std::uintptr_t>(mapping_->data());
    std::uintptr_t const offset = first - begin;
    if (first < begin || offset >= mapping_->bytes() || bytes > mapping_->bytes() - offset)
        return 0;
    return offset;
}

}  // namespace sinew::node_memory
