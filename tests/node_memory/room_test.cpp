// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/room.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "tests/node_memory/patient_waiter.hpp"
#include "tests/node_memory/two_rooms.hpp"
#include "tests/support/thread_ranks.hpp"

namespace sinew::node_memory {
namespace {

using sinew::testing::room_memory;
using sinew::testing::room_ring;

TEST(Room, LetsARankRunAheadByItsLines) {
    TwoRooms two;
    for (std::uint64_t i = 0; i < Room::lines; ++i) two.send(i);
    EXPECT_THROW(two.send(Room::lines), WouldWait);
    // A rank that must wait looks rarely: it waits until half of the lines are free.
    for (std::uint64_t i = 0; i < Room::lines / 2; ++i) EXPECT_EQ(two.receive(), i);
    EXPECT_THROW(two.first.line(two.waiter), WouldWait);
    EXPECT_EQ(two.receive(), Room::lines / 2);
    std::uint64_t number = Room::lines;
    std::memcpy(two.first.line(two.waiter), &number, sizeof number);
    two.first.publish_line();
    for (++number; number <= Room::lines * 3 / 2; ++number) two.send(number);
    EXPECT_THROW(two.send(number), WouldWait);
    for (std::uint64_t i = Room::lines / 2 + 1; i < number; ++i) EXPECT_EQ(two.receive(), i);
    EXPECT_THROW(two.receive(), WouldWait) << "nothing was sent yet";
}

// Rank 1 enters operations before it has finished earlier ones, so its lines do not say that it has
// read those of rank 0.
TEST(Room, ConcludesNothingFromTheLineOfARankThatIsBehind) {
    TwoRooms two;
    auto const enter = [&](Room& room, bool behind) {
        room.begin();
        room.free_line();
        room.publish_line(behind);
        return room.entry();
    };
    std::vector<Room::Entry> entered;
    for (std::uint64_t i = 0; i < Room::lines; ++i) {
        ASSERT_TRUE(two.first.is_free(Room::lines, two.first.operation()));
        enter(two.first, false);
        entered.push_back(enter(two.second, i > 0));
        EXPECT_EQ(two.first.line_arrival(two.first.entry(), 1),
                  i > 0 ? Room::Arrival::here_behind : Room::Arrival::here);
        two.first.await_lines(two.waiter);
        two.first.finish_together();
    }
    EXPECT_FALSE(two.first.is_free(Room::lines, two.first.operation()))
        << "rank 1 has not read the first line";
    EXPECT_FALSE(two.second.is_free(Room::lines, 0)) << "its own first is not finished";
    EXPECT_EQ(two.second.line_arrival(entered.front(), 0), Room::Arrival::here);
    two.second.publish_finished(entered.front().operation);
    EXPECT_TRUE(two.first.is_free(Room::lines, two.first.operation()));
    EXPECT_TRUE(two.second.is_free(Room::lines, entered.front().operation));
    EXPECT_FALSE(two.first.is_free(Room::short_slots, two.first.operation()));
}

TEST(Room, LetsARankRunAheadByItsShortSlots) {
    for (std::size_t const bytes : {Room::compact_bytes, Room::short_bytes}) {
        TwoRooms two;
        std::uint64_t const slots = Room::slots_for(bytes);
        for (std::uint64_t i = 0; i < slots; ++i) {
            two.first.begin();
            std::memset(two.first.short_slot(two.waiter, bytes), static_cast<int>(i), bytes);
            two.first.line(two.waiter);
            two.first.publish_line();
        }
        two.first.begin();
        EXPECT_THROW(two.first.short_slot(two.waiter, bytes), WouldWait);
        for (std::uint64_t i = 0; i < slots; ++i) {
            bool const half = i <= slots / 2;
            if (half) EXPECT_THROW(two.first.short_slot(two.waiter, bytes), WouldWait);
            else EXPECT_NE(two.first.short_slot(two.waiter, bytes), nullptr);
            two.second.begin();
            two.second.await_line(two.waiter, 0);
            std::byte const* const slot = two.second.short_slot_of(0, bytes);
            EXPECT_EQ(slot[0], static_cast<std::byte>(i));
            EXPECT_EQ(slot[bytes - 1], static_cast<std::byte>(i));
            two.second.finish();
        }
    }
}

TEST(Room, WaitsForASlotByHowManyOfItsKindThereAre) {
    TwoRooms two;
    for (std::uint64_t i = 0; i < Room::short_slots; ++i) {
        two.first.begin();
        two.first.line(two.waiter);
        two.first.publish_line();
    }
    two.first.begin();
    EXPECT_THROW(two.first.short_slot(two.waiter, Room::compact_bytes + 1), WouldWait);
    EXPECT_NE(two.first.short_slot(two.waiter, Room::compact_bytes), nullptr);
}

// A ring between a look and the sleep may be lost, but not many of them are.
TEST(Room, WakesAllWhenTheLastHasArrived) {
    class Sleepy final : public Waiter {
    public:
        int spins() const override { return 0; }
        std::chrono::nanoseconds idle(int, int) override { return std::chrono::milliseconds(20); }
    };
    constexpr int ranks = 3, arrivals = 1000;
    auto const memory = room_memory(ranks, room_ring);
    auto const begin = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back([&, rank] {
            Room room(memory, rank, ranks, room_ring, nullptr);
            Sleepy waiter;
            for (int i = 0; i < arrivals; ++i) {
                room.begin();
                room.line(waiter);
                room.arrive(waiter);
            }
        });
    for (std::thread& thread : threads) thread.join();
    // If nobody were woken, it would take 20 s.
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(Room, KnowsThatThoseWhoHaveEnteredHaveFinishedWhatWasBefore) {
    TwoRooms two;
    for (int i = 0; i < 100; ++i)
        for (int half = 0; half < 2; ++half)
            for (Room* const room : {&two.first, &two.second}) {
                if (half == 0) {
                    room->begin();
                    room->line(
                        two.waiter);  // never waits, though no operation is finished by finish()
                    room->publish_line();
                } else {
                    room->await_lines(two.waiter);
                }
            }
}

TEST(Room, DistinguishesTheStagesOfAnOperation) {
    TwoRooms two;
    two.first.begin();
    two.second.begin();
    using Stage = Room::Stage;
    two.first.publish(Stage::contributed, 2);
    EXPECT_TRUE(two.second.reached(0, Stage::contributed, 1));
    EXPECT_TRUE(two.second.reached(0, Stage::contributed, 2));
    EXPECT_FALSE(two.second.reached(0, Stage::contributed, 3));
    EXPECT_FALSE(two.second.reached(0, Stage::reduced, 1));
    EXPECT_FALSE(two.second.reached(0, Stage::consumed, 1));
    two.second.begin();
    EXPECT_FALSE(two.second.reached(0, Stage::contributed, 1)) << "of the operation before";
    two.first.begin();
    two.first.publish(Stage::contributed, 1);
    EXPECT_TRUE(two.second.reached(0, Stage::contributed, 1));
}

/// The rooms of three ranks that run on the processor of this thread.
class RanksOfAProcessor : public ::testing::Test {
protected:
    RanksOfAProcessor() {
        CPU_ZERO(&before_);
        EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
        run_on(::sched_getcpu());
        for (int r = 0; r < ranks; ++r)
            rooms_.push_back(std::make_unique<Room>(memory_, r, ranks, room_ring, nullptr));
    }
    ~RanksOfAProcessor() override { ::sched_setaffinity(0, sizeof before_, &before_); }

    static void run_on(int processor) {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(static_cast<std::size_t>(processor), &only);
        EXPECT_EQ(::sched_setaffinity(0, sizeof only, &only), 0);
    }
    /// Another processor on which this thread may run; -1: there is none.
    int other_processor() const {
        for (int p = 0; p < CPU_SETSIZE; ++p)
            if (CPU_ISSET(static_cast<std::size_t>(p), &before_) && p != ::sched_getcpu()) return p;
        return -1;
    }
    Room& room(int rank) { return *rooms_[static_cast<std::size_t>(rank)]; }
    /// An operation in which all wait for all; each says where it runs.
    void meet() {
        for (auto& each : rooms_) {
            each->begin_together();
            each->line(waiter_);
            each->publish_arrival();
        }
        for (auto& each : rooms_) each->await_arrivals(waiter_);
    }
    std::byte* publish_result(int rank) {
        std::byte* const place = room(rank).free_result();
        if (place == nullptr) return nullptr;
        std::memset(place, rank + 1, Room::short_bytes);
        room(rank).publish_result();
        return place;
    }

    static constexpr int ranks = 3;
    PatientWaiter waiter_;

private:
    cpu_set_t before_;
    std::shared_ptr<void> memory_ = room_memory(ranks, room_ring);
    std::vector<std::unique_ptr<Room>> rooms_;
};

TEST_F(RanksOfAProcessor, FindTheResultOfTheFirst) {
    std::byte* before = nullptr;
    for (int i = 0; i < 20; ++i) {
        meet();
        EXPECT_EQ(room(1).result_beside(), nullptr);
        std::byte* const place = publish_result(0);
        ASSERT_NE(place, nullptr);
        EXPECT_NE(place, before) << "a rank may still read that of the operation before";
        EXPECT_EQ(room(1).result_beside(), place);
        EXPECT_EQ(room(2).result_beside(), place);
        EXPECT_EQ(room(0).result_beside(), nullptr) << "its own";
        before = place;
    }
}

TEST_F(RanksOfAProcessor, AreNotThoseOfAnother) {
    int const other = other_processor();
    if (other < 0) GTEST_SKIP() << "this thread may run on one processor only";
    meet();
    // Ranks 1 and 2 go on elsewhere, and say so when they wait for the next operation.
    for (int r = 0; r < ranks; ++r) room(r).begin_together();
    for (int r = 0; r < ranks; ++r) room(r).line(waiter_);
    for (int r = 0; r < ranks; ++r) room(r).publish_arrival();
    room(0).await_arrivals(waiter_);
    run_on(other);
    room(1).await_arrivals(waiter_);
    room(2).await_arrivals(waiter_);
    EXPECT_EQ(room(0).free_result(), nullptr) << "nobody would copy it";
    ASSERT_NE(publish_result(1), nullptr);
    EXPECT_EQ(room(0).result_beside(), nullptr);
    EXPECT_NE(room(2).result_beside(), nullptr);
}

TEST_F(RanksOfAProcessor, DoNotWriteWhereOthersMayRead) {
    meet();
    std::byte* const place = publish_result(0);
    ASSERT_NE(place, nullptr);
    // An operation in which nobody waits for rank 1, which is still in the first one.
    for (int const r : {0, 2}) {
        room(r).begin();
        room(r).finish();
    }
    room(0).begin_together();
    EXPECT_EQ(room(0).free_result(), nullptr);
    EXPECT_EQ(room(1).result_beside(), place);
    EXPECT_EQ(*place, std::byte{1});
    // Its arrival says that it has finished the others.
    room(1).begin();
    room(1).finish();
    room(1).begin_together();
    room(2).begin_together();
    for (int r = 0; r < ranks; ++r) room(r).line(waiter_);
    for (int r = 0; r < ranks; ++r) room(r).publish_arrival();
    for (int r = 0; r < ranks; ++r) room(r).await_arrivals(waiter_);
    EXPECT_EQ(room(0).free_result(), place);
}

TEST(Room, IsLeftWhenAllHaveLeft) {
    auto const memory = room_memory(2, room_ring);
    {
        Room const first(memory, 0, 2, room_ring, nullptr);
        { Room const second(memory, 1, 2, room_ring, nullptr); }
        EXPECT_FALSE(Room::left_by_all(memory.get(), 2));
    }
    EXPECT_TRUE(Room::left_by_all(memory.get(), 2));
}

TEST(Room, LeasesNothingThatMayStillBeRead) {
    for (std::size_t const contribution : {64u, 1000u, 7000u, 12000u}) {
        TwoRooms two;
        struct Leased {
            std::byte *begin, *end;
        };
        std::vector<Leased> unfinished;
        std::size_t finished = 0;
        for (int i = 0; i < 400; ++i) {
            std::size_t const result = contribution / 3;
            two.first.begin();
            for (;;) try {
                    two.first.reserve(two.waiter, Room::depth, contribution, result);
                    break;
                } catch (WouldWait) {
                    ASSERT_LT(finished, unfinished.size()) << "it waits for what is finished";
                    two.second.begin();
                    two.second.finish();
                    ++finished;
                }
            std::byte* const begin = two.first.result_of(0, 0, result);
            std::byte* const end =
                two.first.contribution_of(0, Room::depth - 1, contribution, Room::depth * result) +
                contribution;
            ASSERT_EQ(end - begin,
                      static_cast<std::ptrdiff_t>(Room::depth * (contribution + result)));
            ASSERT_GE(begin, static_cast<std::byte*>(two.memory.get()));
            ASSERT_LE(end, static_cast<std::byte*>(two.memory.get()) + Room::bytes(2, room_ring));
            for (std::size_t k = finished; k < unfinished.size(); ++k)
                ASSERT_TRUE(end <= unfinished[k].begin || unfinished[k].end <= begin)
                    << "reservations " << k << " and " << unfinished.size();
            unfinished.push_back({begin, end});
            two.first.publish(Room::Stage::contributed, 1);
            two.first.finish();
        }
    }
}

// Else each operation would wait for the one before it, and many small ones would touch all of the ring.
TEST(Room, UsesTheSameFewSlotsAgain) {
    for (std::size_t const contribution : {64u, 700u, 1900u}) {
        TwoRooms two;
        std::set<std::byte*> slots;
        for (int i = 0; i < 40; ++i) {
            two.first.begin();
            two.second.begin();
            two.first.reserve(two.waiter, 1, contribution);
            two.first.publish(Room::Stage::contributed, 1);
            slots.insert(two.first.contribution_of(0, 0, contribution));
            two.first.finish();
            two.second.finish();
        }
        EXPECT_EQ(slots.size(), 4u) << contribution;
    }
}

// The other rank has reserved little, near the end of its ring, for a call of another size.
TEST(Room, ReadsNothingOutsideOfARing) {
    TwoRooms two;
    auto const* const end = static_cast<std::byte*>(two.memory.get()) + Room::bytes(2, room_ring);
    for (int i = 0; i < 40; ++i) {
        two.first.begin();
        two.second.begin();
        two.second.reserve(two.waiter, 1, 2500);
        two.second.publish(Room::Stage::contributed, 1);
        for (std::size_t round = 0; round < Room::depth; ++round) {
            EXPECT_LE(two.first.contribution_of(1, round, 15000) + 15000, end);
            EXPECT_LE(two.first.result_of(1, round, 15000) + 15000, end);
        }
        two.first.finish();
        two.second.finish();
    }
}

TEST(Room, KeepsTheRanksApart) {
    for (int const ranks : {2, 3, 7, 64, Room::most_ranks}) {
        auto const memory = room_memory(ranks, room_ring);
        std::vector<std::unique_ptr<Room>> rooms;
        for (int r = 0; r < ranks; ++r)
            rooms.push_back(std::make_unique<Room>(memory, r, ranks, room_ring, nullptr));
        ImpatientWaiter waiter;
        auto const ends_at = [&](std::byte const* end) {
            EXPECT_LE(end, static_cast<std::byte*>(memory.get()) + Room::bytes(ranks, room_ring));
        };
        // Each rank fills all that it may write with its number.
        for (int r = 0; r < ranks; ++r) {
            Room& room = *rooms[static_cast<std::size_t>(r)];
            room.begin();
            std::memset(room.line(waiter), r, Room::line_bytes);
            for (std::size_t const bytes : {Room::compact_bytes, Room::short_bytes})
                std::memset(room.short_slot(waiter, bytes), r, bytes);
            room.reserve(waiter, Room::depth, room.span(), room.block());
            for (std::size_t round = 0; round < Room::depth; ++round) {
                std::byte* const result = room.result_of(r, round, room.block());
                std::byte* const contribution =
                    room.contribution_of(r, round, room.span(), Room::depth * room.block());
                std::memset(result, r, room.block());
                std::memset(contribution, r, room.span());
                ends_at(contribution + room.span());
            }
            room.publish_line();
        }
        Room& reader = *rooms[0];
        for (int r = 0; r < ranks; ++r) {
            auto const value = static_cast<std::byte>(r);
            EXPECT_EQ(reader.line_arrival(reader.entry(), r), Room::Arrival::here);
            EXPECT_EQ(reader.line_of(r)[0], value);
            EXPECT_EQ(reader.line_of(r)[Room::line_bytes - 1], value);
            for (std::size_t const bytes : {Room::compact_bytes, Room::short_bytes}) {
                EXPECT_EQ(reader.short_slot_of(r, bytes)[0], value);
                EXPECT_EQ(reader.short_slot_of(r, bytes)[bytes - 1], value);
            }
            if (reader.block() == 0) continue;
            for (std::size_t round = 0; round < Room::depth; ++round) {
                EXPECT_EQ(reader.result_of(r, round, reader.block())[0], value);
                EXPECT_EQ(reader.contribution_of(r, round, reader.span(),
                                                 Room::depth * reader.block())[reader.span() - 1],
                          value);
            }
        }
    }
}

// Where the numbers of operations, or the marks of their rounds, wrap around.
class ManyOperations : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Before, ManyOperations,
                         ::testing::Values((std::uint64_t{1} << 34) - 40,
                                           (std::uint64_t{1} << 35) - 40,
                                           (std::uint64_t{1} << 36) - 40,
                                           (std::uint64_t{1} << 63) - 40, ~std::uint64_t{0} - 40));

TEST_P(ManyOperations, LinesPassInOrder) {
    TwoRooms two(GetParam());
    for (std::uint64_t i = 0; i < 200; ++i) {
        if (i % 40 < 20) {  // up to 20 ahead
            two.send(i);
            if (i % 40 != 19) continue;
            for (std::uint64_t k = i - 19; k <= i; ++k) ASSERT_EQ(two.receive(), k);
        } else {
            two.send(i);
            ASSERT_EQ(two.receive(), i);
        }
        EXPECT_THROW(two.receive(), WouldWait);
        two.first.begin();
        two.first.finish();
        two.second.finish();
    }
}

// Some hours of short operations leave the counters of rounds behind by more than they can compare.
TEST_P(ManyOperations, RoundsOfACounterThatWasLongNotUsedAreNotReached) {
    TwoRooms two(GetParam());
    for (int i = 0; i < 100; ++i) {
        two.first.begin();
        two.second.begin();
        for (auto const stage :
             {Room::Stage::contributed, Room::Stage::reduced, Room::Stage::consumed}) {
            ASSERT_FALSE(two.second.reached(0, stage, 1)) << "operation " << i;
            ASSERT_FALSE(two.first.reached(1, stage, 1)) << "operation " << i;
        }
    }
    two.first.publish(Room::Stage::contributed, 1);
    EXPECT_TRUE(two.second.reached(0, Room::Stage::contributed, 1));
}

TEST_P(ManyOperations, SlotsAreLeasedOnlyWhenFree) {
    TwoRooms two(GetParam());
    int waited = 0;
    for (int i = 0; i < 200; ++i) {
        two.first.begin();
        two.second.begin();
        try {
            two.first.reserve(two.waiter, Room::depth, 4000);
        } catch (WouldWait) {
            ++waited;
            two.second.finish();
            two.first.reserve(two.waiter, Room::depth, 4000);
        }
    }
    EXPECT_EQ(waited, 40) << "every fifth meets the slots of the first, which the other rank "
                             "finishes, with those between, only when asked";
}

}  // namespace
}  // namespace sinew::node_memory
