// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/room.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <thread>
#include <vector>

#include "collectives/node/node_call.hpp"
#include "tests/node_memory/patient_waiter.hpp"
#include "tests/support/thread_ranks.hpp"

namespace sinew::node_memory {
namespace {

using namespace std::chrono_literals;
using sinew::testing::room_block;
using sinew::testing::room_memory;

/// The rooms of two ranks.
struct Two {
    std::shared_ptr<void> memory = room_memory(2, room_block);
    Room first{memory, 0, 2, room_block, nullptr};
    Room second{memory, 1, 2, room_block, nullptr};
    ImpatientWaiter waiter;

    void send(std::uint64_t number) {
        first.begin();
        std::memcpy(first.line(waiter), &number, sizeof number);
        first.publish_line();
        first.finish();
    }
    std::uint64_t receive() {
        second.begin();
        second.await_line(waiter, 0);
        std::uint64_t number;
        std::memcpy(&number, second.line_of(0), sizeof number);
        second.finish();
        return number;
    }
};

TEST(Room, LetsARankRunAheadByItsLines) {
    Two two;
    for (std::uint64_t i = 0; i < Room::lines; ++i) two.send(i);
    EXPECT_THROW(two.send(Room::lines), WouldWait);
    EXPECT_EQ(two.receive(), 0u);
    two.first.line(two.waiter);  // of the call that waited before
    std::uint64_t const number = Room::lines;
    std::memcpy(two.first.line(two.waiter), &number, sizeof number);
    two.first.publish_line();
    EXPECT_THROW(two.send(Room::lines + 1), WouldWait);
    for (std::uint64_t i = 1; i <= Room::lines; ++i) EXPECT_EQ(two.receive(), i);
    EXPECT_THROW(two.receive(), WouldWait) << "nothing was sent yet";
}

TEST(Room, LetsARankRunAheadByItsShortSlots) {
    Two two;
    for (std::uint64_t i = 0; i < Room::short_slots; ++i) {
        two.first.begin();
        std::memset(two.first.short_slot(two.waiter), static_cast<int>(i), Room::short_bytes);
        two.first.line(two.waiter);
        two.first.publish_line();
    }
    two.first.begin();
    EXPECT_THROW(two.first.short_slot(two.waiter), WouldWait);
    two.second.begin();
    two.second.await_line(two.waiter, 0);
    EXPECT_EQ(two.second.short_slot_of(0)[Room::short_bytes - 1], std::byte{0});
    two.second.finish();
    EXPECT_NE(two.first.short_slot(two.waiter), nullptr);
    for (std::uint64_t i = 1; i < Room::short_slots; ++i) {
        two.second.begin();
        two.second.await_line(two.waiter, 0);
        EXPECT_EQ(two.second.short_slot_of(0)[0], static_cast<std::byte>(i));
        two.second.finish();
    }
}

TEST(Room, KnowsThatThoseWhoHaveEnteredHaveFinishedWhatWasBefore) {
    Two two;
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
    Two two;
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

TEST(Room, IsLeftWhenAllHaveLeft) {
    auto const memory = room_memory(2, room_block);
    {
        Room const first(memory, 0, 2, room_block, nullptr);
        { Room const second(memory, 1, 2, room_block, nullptr); }
        EXPECT_FALSE(Room::left_by_all(memory.get(), 2));
    }
    EXPECT_TRUE(Room::left_by_all(memory.get(), 2));
}

TEST(Room, KeepsItsPartsApart) {
    for (int const ranks : {1, 2, 3, 7, 64, Room::most_ranks})
        for (std::size_t const block : {std::size_t{4096}, std::size_t{64} << 10}) {
            std::size_t const bytes = Room::bytes(ranks, block);
            std::shared_ptr<void> const memory(reinterpret_cast<void*>(std::uintptr_t{1} << 30),
                                               [](void*) {});  // never accessed
            auto const* const base = static_cast<std::byte const*>(memory.get());
            // Not destroyed: a room writes that it was left.
            auto* const room =
                new (std::malloc(sizeof(Room))) Room(memory, 0, ranks, block, nullptr);
            for (int r = 0; r < ranks; ++r) {
                EXPECT_GE(room->line_of(r), base);
                EXPECT_LE(room->short_slot_of(r) + Room::short_bytes, base + bytes);
                for (std::size_t round = 0; round < Room::depth; ++round) {
                    EXPECT_LE(room->contribution_of(r, round) + room->span(), base + bytes);
                    EXPECT_LE(room->result_of(r, round) + block, base + bytes);
                }
                if (r == 0) continue;
                EXPECT_LE(room->result_of(r - 1, Room::depth - 1) + block,
                          room->contribution_of(r, 0));
            }
            std::free(room);
        }
}

}  // namespace
}  // namespace sinew::node_memory
