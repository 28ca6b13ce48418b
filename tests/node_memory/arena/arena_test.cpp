// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/arena/arena.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "tests/node_memory/arena/other_process.hpp"
#include "tests/node_memory/patient_waiter.hpp"

namespace sinew::node_memory {
namespace {

constexpr std::size_t page = 4096;

/// Bytes of memory that are in use.
std::size_t used_bytes(Arena const& arena) {
    struct stat status {};
    if (::fstat(arena.name().fd, &status) != 0) throw std::runtime_error("fstat");
    return static_cast<std::size_t>(status.st_blocks) * 512;
}

/// Mappings of shared memory.
std::size_t mappings_of_this_process() {
    std::ifstream maps("/proc/self/maps");
    std::size_t lines = 0;
    for (std::string line; std::getline(maps, line);)
        if (line.find("memfd:sinew") != line.npos) ++lines;
    return lines;
}

TEST(Arena, IsOneMappingForRanksThatAreThreads) {
    auto const first = Arena::make(Source::memfd, 3);
    auto const third = Arena::open(first->name(), 2, 3);
    EXPECT_EQ(first->at(4096), third->at(4096));
    auto const data = third->allocate(100);
    EXPECT_EQ(first->offset_of(data.get(), 100), third->offset_of(data.get(), 100));
    EXPECT_NE(first->offset_of(data.get(), 100), 0u);
}

TEST(Arena, HasARegionForEachRank) {
    auto const first = Arena::make(Source::memfd, 3);
    auto const second = Arena::open(first->name(), 1, 3), third = Arena::open(first->name(), 2, 3);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
    std::vector<std::shared_ptr<void>> kept;
    for (auto const& arena : {first, second, third})
        for (std::size_t const bytes : {std::size_t{1}, page, std::size_t{5} << 20}) {
            kept.push_back(arena->allocate(bytes));
            std::uint64_t const offset = arena->offset_of(kept.back().get(), bytes);
            ASSERT_GE(offset, std::uint64_t{2} << 20) << "the first huge page has the nonce";
            EXPECT_EQ(offset % page, 0u);
            for (auto const& [begin, end] : parts)
                EXPECT_TRUE(offset + bytes <= begin || end <= offset);
            parts.emplace_back(offset, offset + bytes);
        }
}

TEST(Arena, GivesZeroedMemoryAgain) {
    auto const arena = Arena::make(Source::memfd, 2);
    void* before = nullptr;
    for (int i = 0; i < 3; ++i) {
        auto const data = arena->allocate(3 * page);
        ASSERT_TRUE(i == 0 || data.get() == before);
        before = data.get();
        auto* const bytes = static_cast<unsigned char*>(data.get());
        for (std::size_t k = 0; k < 3 * page; ++k) ASSERT_EQ(bytes[k], 0);
        std::memset(bytes, 1, 3 * page);
    }
}

TEST(Arena, ReturnsMemoryThatIsFreed) {
    auto const arena = Arena::make(Source::memfd, 2);
    std::size_t const before = used_bytes(*arena);
    {
        auto const data = arena->allocate(std::size_t{8} << 20);
        std::memset(data.get(), 1, std::size_t{8} << 20);
        EXPECT_GE(used_bytes(*arena), before + (std::size_t{8} << 20));
    }
    EXPECT_EQ(used_bytes(*arena), before);
}

// A rank that was stopped in a collective goes on after the others have given it up.
TEST(Arena, UsesNoMemoryAgainAfterAFailure) {
    auto const arena = Arena::make(Source::memfd, 2);
    auto freed = arena->allocate(3 * page);
    void* const late = freed.get();
    arena->retain();
    freed.reset();
    auto const next = arena->allocate(3 * page);
    std::memset(late, 1, 3 * page);
    auto const* const bytes = static_cast<unsigned char const*>(next.get());
    for (std::size_t k = 0; k < 3 * page; ++k) ASSERT_EQ(bytes[k], 0);
}

TEST(Arena, RefusesWhatItDoesNotHave) {
    auto const arena = Arena::make(Source::memfd, 2);
    for (std::size_t const bytes :
         {std::size_t{1} << 47, ~std::size_t{0}, ~std::size_t{0} - 4094, ~std::size_t{0} - 8000})
        EXPECT_THROW(arena->allocate(bytes), std::bad_alloc) << bytes;
    EXPECT_NE(arena->allocate(0), nullptr);
    EXPECT_NE(arena->allocate(1), nullptr);
}

TEST(Arena, KnowsWhatIsItsOwn) {
    auto const arena = Arena::make(Source::memfd, 2);
    auto const data = arena->allocate(2 * page);
    auto* const first = static_cast<std::byte*>(data.get());
    EXPECT_EQ(arena->at(arena->offset_of(first + 17, 5)), first + 17);
    EXPECT_NE(arena->offset_of(first, 0), 0u);
    int elsewhere = 0;
    EXPECT_EQ(arena->offset_of(&elsewhere, sizeof elsewhere), 0u);
    EXPECT_EQ(arena->offset_of(nullptr, 8), 0u);
    EXPECT_EQ(arena->offset_of(first, ~std::size_t{0}), 0u) << "its end is outside";
}

TEST(Arena, OutlivesItsAllocations) {
    std::shared_ptr<void> data;
    {
        auto const arena = Arena::make(Source::memfd, 2);
        data = arena->allocate(page);
    }
    std::memset(data.get(), 1, page);
}

/// Uses a room as the ranks of a communicator do: both open it, meet, and leave.
void use_room(Arena& first, Arena& second, RoomPlace const& place) {
    PatientWaiter waiter;
    auto const a = first.open_room(place, 0, 2), b = second.open_room(place, 1, 2);
    for (Room* const room : {a.get(), b.get()}) {
        room->begin();
        std::memcpy(room->line(waiter), "x", 1);
        room->publish_line();
    }
    a->await_line(waiter, 1);
    b->await_line(waiter, 0);
}

TEST(Arena, ReusesRoomsThatAllHaveLeft) {
    auto const first = Arena::make(Source::memfd, 2), second = Arena::open(first->name(), 1, 2);
    RoomPlace const one = first->make_room(2);
    ASSERT_NE(one.offset, 0u);
    {
        auto const left = first->open_room(one, 0, 2);
        RoomPlace const two = first->make_room(2);
        EXPECT_NE(two.offset, one.offset) << "no rank of it has left";
        use_room(*first, *second, two);
    }
    auto const late = second->open_room(one, 1, 2);
    EXPECT_NE(first->make_room(2).offset, one.offset) << "one rank is still in it";
}

TEST(Arena, TenThousandCommunicatorsInTurnUseTheMemoryOfOne) {
    auto const first = Arena::make(Source::memfd, 2), second = Arena::open(first->name(), 1, 2);
    use_room(*first, *second, first->make_room(2));
    std::size_t const bytes = used_bytes(*first), mappings = mappings_of_this_process();
    for (int i = 0; i < 10000; ++i) {
        RoomPlace const place = first->make_room(2);
        ASSERT_NE(place.offset, 0u) << "communicator " << i;
        use_room(*first, *second, place);
    }
    EXPECT_LE(used_bytes(*first), bytes);
    EXPECT_EQ(mappings_of_this_process(), mappings);
}

TEST(Arena, TenThousandCommunicatorsAtATimeAreCheap) {
    auto const first = Arena::make(Source::memfd, 2), second = Arena::open(first->name(), 1, 2);
    std::size_t const before = used_bytes(*first), mappings = mappings_of_this_process();
    std::vector<std::unique_ptr<Room>> rooms;
    PatientWaiter waiter;
    constexpr int count = 10000;
    for (int i = 0; i < count; ++i) {
        RoomPlace const place = first->make_room(2);
        ASSERT_NE(place.offset, 0u) << "communicator " << i;
        rooms.push_back(first->open_room(place, 0, 2));
        rooms.push_back(second->open_room(place, 1, 2));
        for (std::size_t r = rooms.size() - 2; r < rooms.size(); ++r) {
            rooms[r]->begin();
            rooms[r]->line(waiter);
            rooms[r]->publish_line();
        }
    }
    // A page with the doorbell and one per rank.
    EXPECT_LE(used_bytes(*first), before + std::size_t{count} * 3 * page);
    EXPECT_EQ(mappings_of_this_process(), mappings);
    rooms.clear();
    // Each look frees only a few, so that it takes no longer if there are many.
    for (int i = 0; i < count / 10; ++i) first->make_room(2);
    EXPECT_LE(used_bytes(*first), before + (count / 10 + 4) * page);
}

TEST(Arena, GivesSmallRingsOnceItsRoomsAreMany) {
    auto const arena = Arena::make(Source::memfd, 2);
    RoomPlace place = arena->make_room(2);
    std::uint64_t const usual = place.ring;
    std::size_t large = 0, rooms = 0;
    while (place.ring == usual && ++rooms < 1000) {
        large += Room::bytes(2, place.ring);
        place = arena->make_room(2);
    }
    EXPECT_LE(place.ring, usual / 16);
    EXPECT_NE(place.offset, 0u);
    EXPECT_LE(large, std::size_t{256} << 20);
}

TEST(Arena, HasNoRoomForMoreRanksThanARoomTakes) {
    auto const arena = Arena::make(Source::memfd, 2);
    EXPECT_EQ(arena->make_room(Room::most_ranks + 1).offset, 0u);
    EXPECT_NE(arena->make_room(Room::most_ranks).offset, 0u);
}

TEST(Arena, OfASmallDevShmRunsOutWithoutASignal) {
    int const status = in_a_fork([] {
        if (!use_own_shm("4m")) return not_permitted;
        auto const arena = Arena::make(Source::posix, 2);
        auto const some = arena->allocate(std::size_t{1} << 20);
        std::memset(some.get(), 1, std::size_t{1} << 20);
        int rooms = 0;
        while (arena->make_room(2).offset != 0)
            if (++rooms > 100) return 3;
        try {
            arena->allocate(std::size_t{4} << 20);
            return 4;
        } catch (std::bad_alloc const&) {}
        std::memset(some.get(), 2, std::size_t{1} << 20);
        return rooms >= 8 ? as_expected : 5;  // small ones, if none of the usual size fits
    });
    if (status == not_permitted) GTEST_SKIP() << "no mount namespace is permitted here";
    EXPECT_EQ(status, as_expected);
}

TEST(Arena, IsUsedByThreadsAtOnce) {
    auto const arena = Arena::make(Source::memfd, 2);
    std::size_t const before = used_bytes(*arena);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 300; ++i) {
                auto const data = arena->allocate(page * (1 + (static_cast<unsigned>(i) + t) % 5));
                auto* const first = static_cast<unsigned char*>(data.get());
                EXPECT_EQ(*first, 0);
                *first = static_cast<unsigned char>(t + 1);
                std::this_thread::yield();
                EXPECT_EQ(*first, t + 1);
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(used_bytes(*arena), before);
}

}  // namespace
}  // namespace sinew::node_memory
