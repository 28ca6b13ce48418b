// SPDX-License-Identifier: Apache-2.0
// Where two ranks write to memory that the other one has written before.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

#include "collectives/node/posted_message.hpp"
#include "tests/node_memory/two_rooms.hpp"

namespace sinew::node_memory {
namespace {

using collectives::node::PostedMessage;
using sinew::testing::room_memory;
using sinew::testing::room_ring;

// A cache line that this rank has read last is in its cache, and to write it disturbs no other.
TEST(RoomOfTwo, TwoRanksWriteToShortAndExchangeSlotsThatTheyHaveRead) {
    TwoRooms two;
    std::vector<std::byte const*> read_shorts, read_slots;
    for (std::size_t i = 0; i < 200; ++i) {
        two.first.begin();
        two.second.begin();
        for (Room* const room : {&two.first, &two.second}) {
            room->line(two.waiter);
            room->publish_line();
            if (room != &two.first) continue;
            std::byte* const slot = room->exchange_slot(0, 0);
            if (i >= Room::short_slots) {
                EXPECT_EQ(room->short_slot(two.waiter, Room::short_bytes),
                          read_shorts[i - Room::short_slots]);
            }
            if (i >= Room::exchange_slots) {
                EXPECT_EQ(slot, read_slots[i - Room::exchange_slots]);
            }
        }
        two.first.await_lines(two.waiter);
        two.second.await_lines(two.waiter);
        read_shorts.push_back(two.first.short_slot_of(1, Room::short_bytes));
        read_slots.push_back(two.first.exchange_slot(1, 0));
        two.first.end_exchange(1);
        two.second.end_exchange(1);
    }
}

// A root that runs ahead writes to few lines again and again, which it has in its first-level cache, and a reader that is behind fetches
// those of later messages.
TEST(RoomOfTwo, EachRankHasLinesAndCompactSlotsOfItsOwn) {
    TwoRooms two;
    std::vector<std::byte const*> lines, compacts;
    for (std::size_t i = 0; i < 200; ++i) {
        two.first.begin();
        two.second.begin();
        two.second.fetch_line_ahead(0, Room::compact_bytes);
        lines.push_back(two.first.line(two.waiter));
        compacts.push_back(two.first.short_slot(two.waiter, Room::compact_bytes));
        two.first.publish_line();
        two.second.fetch_line_ahead(0, Room::compact_bytes);
        two.second.await_line(two.waiter, 0);
        EXPECT_EQ(two.second.line_of(0), lines[i]);
        EXPECT_EQ(two.second.short_slot_of(0, Room::compact_bytes), compacts[i]);
        if (i >= Room::lines) {
            EXPECT_EQ(lines[i], lines[i - Room::lines]);
        }
        if (i >= Room::compact_slots) {
            EXPECT_EQ(compacts[i], compacts[i - Room::compact_slots]);
        }
        two.first.finish();
        two.second.finish();
    }
}

// Of two ranks whose steps alternate in any order, each finds what the other has written for that round.
TEST(RoomOfTwo, ExchangeSlotsAreNotWrittenBeforeTheyAreRead) {
    std::minstd_rand random(3);
    struct Rank {
        Room& room;
        std::size_t written = 0, read = 0;  // rounds of this operation
        std::uint32_t operation = 0;
    };
    TwoRooms two;
    std::array<Rank, 2> ranks{Rank{two.first}, Rank{two.second}};
    std::vector<std::size_t> rounds;
    for (int i = 0; i < 3000; ++i) rounds.push_back(1 + random() % 6);
    auto const value = [](std::size_t rank, std::uint32_t operation, std::size_t round) {
        return operation * 100 + static_cast<std::uint32_t>(round * 10 + rank);
    };
    std::size_t steps = 0;
    while (ranks[0].operation < rounds.size() || ranks[1].operation < rounds.size()) {
        ASSERT_LT(++steps, 1'000'000u) << "no rank can go on";
        std::size_t const self = random() % 2;
        Rank &rank = ranks.at(self), &other = ranks.at(1 - self);
        if (rank.operation == rounds.size()) continue;
        std::size_t const all = rounds[rank.operation];
        if (rank.written < std::min(rank.read + 2, all)) {
            auto const sent = value(self, rank.operation, rank.written);
            std::memcpy(rank.room.exchange_slot(static_cast<int>(self), rank.written++), &sent,
                        sizeof sent);
        } else if (other.operation > rank.operation ||
                   (other.operation == rank.operation && other.written > rank.read)) {
            std::uint32_t received = 0;
            std::memcpy(&received, rank.room.exchange_slot(static_cast<int>(1 - self), rank.read),
                        sizeof received);
            ASSERT_EQ(received, value(1 - self, rank.operation, rank.read));
            if (++rank.read < all) continue;
            rank.room.end_exchange(all);
            ++rank.operation;
            rank.written = rank.read = 0;
        }
    }
}

TEST(RoomOfTwo, OnlyTwoRanksExchangeSlots) {
    for (int const ranks : {1, 2, 3, 8}) {
        Room const room(room_memory(ranks, room_ring), 0, ranks, room_ring, nullptr);
        EXPECT_EQ(room.exchange_bytes() > 0, ranks == 2) << ranks;
    }
}

TEST(RoomOfTwo, RanksThatWaitForEachOtherSwapTheirPlaces) {
    TwoRooms two;
    std::byte const *line = nullptr, *slot = nullptr;
    for (std::size_t i = 0; i < 100; ++i) {
        two.first.begin_together();
        two.second.begin_together();
        std::byte* const own = two.first.line(two.waiter);
        std::byte* const own_slot = two.first.short_slot(two.waiter, Room::swapped_bytes);
        EXPECT_NE(two.first.short_slot(two.waiter, Room::swapped_bytes + 1), own_slot);
        if (i > 0) {
            EXPECT_EQ(own, line) << "where it read in the operation before";
            EXPECT_EQ(own_slot, slot);
        }
        two.first.publish_line();
        two.second.line(two.waiter);
        two.second.publish_line();
        two.first.await_lines(two.waiter);
        two.second.await_lines(two.waiter);
        line = two.first.line_of(1);
        slot = two.first.short_slot_of(1, Room::swapped_bytes);
    }
}

// Rank 0 has read nothing of rank 1 since it wrote to the place, and does not know whether rank 1 has read that. It need not wait for it.
TEST(RoomOfTwo, APlaceIsNotWrittenBeforeTheOtherRankHasReadIt) {
    TwoRooms two;
    two.first.begin_together();
    std::byte* const place = two.first.line(two.waiter);
    two.first.publish_line();
    two.second.begin_together();
    two.second.line(two.waiter);
    two.second.publish_line();
    two.first.await_lines(two.waiter);  // rank 1 is still in it
    two.send(1);
    two.first.begin_together();
    std::byte* const line = two.first.line(two.waiter);
    EXPECT_NE(line, place);
    *line = std::byte{7};
    *two.first.short_slot(two.waiter, 8) = std::byte{8};
    two.first.publish_line();
    two.second.await_lines(two.waiter);
    EXPECT_EQ(two.receive(), 1u);
    two.second.begin_together();
    two.second.await_line(two.waiter, 0);
    EXPECT_EQ(two.second.line_of(0)[0], std::byte{7});
    EXPECT_EQ(two.second.short_slot_of(0, 8)[0], std::byte{8});
}

// A rank that has posted calls need not look at the room for the other one to go on, as long as there are places.
TEST(RoomOfTwo, NobodyWaitsForARankThatHasPostedItsCalls) {
    for (bool const reads_own : {false, true}) {
        for (std::size_t const bytes : {8u, 200u, 8000u}) {
            TwoRooms two;
            PostedMessage::Plan const plan{.bytes = bytes, .reads_own = reads_own};
            std::vector<std::byte> const message(bytes, std::byte{1});
            std::deque<PostedMessage> posted;
            for (std::size_t i = 0; i < Room::short_slots; ++i) {
                std::uint64_t const finished =
                    posted.empty() ? two.first.operation() : posted.front().operation() - 1;
                ASSERT_TRUE(PostedMessage::can_enter(two.first, plan, finished));
                PostedMessage& next = posted.emplace_back();
                next.enter(two.first, plan, 0, posted.size() > 1);
                if (posted.size() > 1) two.first.publish_finished(finished);
                next.publish(two.first, message);
            }
            bool const in_line = bytes <= Room::line_bytes;
            for (std::size_t i = 0; i < Room::short_slots; ++i) {
                two.second.begin_together();
                std::byte* to = two.second.line(two.waiter);
                if (!in_line) to = two.second.short_slot(two.waiter, bytes);
                *to = static_cast<std::byte>(i);
                two.second.publish_line();
                two.second.await_lines(two.waiter);
                EXPECT_EQ((in_line ? two.second.line_of(0) : two.second.short_slot_of(0, bytes))[0],
                          std::byte{1});
                two.second.finish_together();
            }
            for (std::size_t i = 0; i < Room::short_slots; ++i) {
                ASSERT_EQ(posted[i].look(two.first), Room::Arrival::here);
                EXPECT_EQ(posted[i].of(two.first, 1)[0], static_cast<std::byte>(i)) << bytes;
                posted[i].finish(two.first);
            }
        }
    }
}

struct Refused {};
class RefusingWaiter final : public Waiter {
public:
    int spins() const override { return 1000; }  // enough to look in other places
    std::chrono::nanoseconds idle(int, int peer) override { throw WouldWait{peer}; }
    void refuse(int) override { throw Refused(); }
};

TEST(RoomOfTwo, RefusesAnotherCallInEitherPlace) {
    RefusingWaiter waiter;
    for (bool const swapped : {true, false}) {
        TwoRooms two;
        two.first.sign(3);
        swapped ? two.first.begin_together() : two.first.begin();
        two.first.line(waiter);
        two.first.publish_line();
        two.second.sign(4);
        swapped ? two.second.begin() : two.second.begin_together();
        EXPECT_THROW(two.second.await_line(waiter, 0), Refused);
    }
}

TEST(RoomOfTwo, AReaderTellsTheWriterHowLongItReads) {
    constexpr std::size_t bytes = 4096;
    TwoRooms two;
    std::array<bool, 2> tried{};
    for (int i = 0; i < 40; ++i) {
        two.first.begin();
        two.second.begin();
        auto const way = ShortStoreChoice::trial_of(two.first.operation());
        two.second.begin_reading(bytes);
        two.second.finish();
        two.first.finish();
        if (way.timed) tried[way.other ? 1 : 0] = true;
        for (bool const other : {false, true}) {
            float const time = two.first.read_time_of_other({.other = other}, bytes);
            EXPECT_EQ(std::isfinite(time), tried[other ? 1 : 0]) << other << " after " << i;
        }
    }
    EXPECT_TRUE(tried[0] && tried[1]);
}

// Where a message lies depends on its size.
TEST(RoomOfTwo, RefusesAMessageOfAnotherSize) {
    RefusingWaiter waiter;
    std::vector<std::size_t> const sizes{8, 16, 32, Room::line_bytes};
    for (std::size_t const sent : sizes)
        for (std::size_t const awaited : sizes) {
            TwoRooms two;
            two.first.sign(static_cast<std::uint16_t>(sent));
            two.first.begin();
            if (sent <= two.first.cell_bytes()) {
                two.first.cell(waiter, sent);
                two.first.publish_cell(sent);
            } else {
                two.first.line(waiter);
                two.first.publish_line();
            }
            two.second.sign(static_cast<std::uint16_t>(awaited));
            two.second.begin();
            auto const wait = [&] {
                if (awaited <= two.second.cell_bytes()) two.second.await_cell(waiter, 0, awaited);
                else two.second.await_line(waiter, 0);
            };
            if (sent == awaited) EXPECT_NO_THROW(wait()) << sent;
            else EXPECT_THROW(wait(), Refused) << sent << " and " << awaited;
        }
}

// A message that comes late, while a rank looks in other places, is no other call.
TEST(RoomOfTwo, DoesNotRefuseAMessageThatComesLate) {
    class SendingWaiter final : public Waiter {
    public:
        explicit SendingWaiter(TwoRooms& two) : two_(two) {}
        int spins() const override { return 1000; }
        std::chrono::nanoseconds idle(int round, int) override {
            if (round == 20) two_.send(5);
            return {};
        }

    private:
        TwoRooms& two_;
    };
    TwoRooms two;
    SendingWaiter waiter(two);
    two.second.begin();
    two.second.await_line(waiter, 0);
    EXPECT_EQ(two.second.line_of(0)[0], std::byte{5});
}

// A rank that has posted a broadcast finds that its root makes a call in which both wait for each other.
TEST(RoomOfTwo, APostedCallFindsAnotherCallInTheSwappedPlace) {
    for (std::size_t const bytes : {std::size_t{16}, Room::line_bytes}) {
        TwoRooms two;
        two.first.sign(3);
        two.first.begin_together();
        two.first.line(two.waiter);
        two.first.publish_line();
        PostedMessage posted;
        PostedMessage::Plan const plan{
            .bytes = bytes, .pattern = PostedMessage::Pattern::from_root, .root = 0};
        posted.enter(two.second, plan, 4, false);
        auto found = Room::Arrival::missing;
        for (int look = 0; look < 1000 && found == Room::Arrival::missing; ++look)
            found = posted.look(two.second);
        EXPECT_EQ(found, Room::Arrival::of_another_call) << bytes;
    }
}

/// One of two ranks that make the same operations, step by step.
class Stepping {
public:
    /// What all know of an operation: it goes from `root` to the other rank, or both wait for each other.
    struct Operation {
        bool together;
        int root;
        std::size_t bytes;
    };
    Stepping(Room& room, std::vector<Operation> const& operations, unsigned seed)
        : room_(room), operations_(operations), random_(seed) {}

    bool done() const { return next_ == operations_.size() && posted_.empty(); }
    /// Does what can be done next, if anything can.
    bool step() {
        try {
            if (next_ == operations_.size()) return end_posted();
            if (stage_ == Stage::between && !begin()) return end_posted();
            return go_on();
        } catch (WouldWait const&) {
            return false;
        }
    }

private:
    enum class Stage : std::uint8_t { between, begun, published };
    struct Posted {
        PostedMessage message;
        std::size_t number;
        bool reads_own;
    };

    static std::byte value(std::size_t number, int rank) {
        return static_cast<std::byte>(2 * number + static_cast<std::size_t>(rank) + 1);
    }
    std::vector<std::byte> message() const {
        return std::vector(operations_[next_].bytes, value(next_, room_.rank()));
    }
    void expect(std::byte const* found, std::size_t number, int of) const {
        std::size_t const bytes = operations_[number].bytes;
        std::byte const wanted = value(number, of);
        EXPECT_TRUE(std::all_of(found, found + bytes, [&](std::byte b) { return b == wanted; }))
            << "operation " << number << " of " << bytes << " bytes on rank " << room_.rank();
    }

    /// Begins the next operation, or posts it. Returns false if earlier ones must end before.
    bool begin() {
        Operation const& next = operations_[next_];
        if (next.together && random_() % 3 == 0 && post()) return true;
        if (!posted_.empty()) return false;
        next.together ? room_.begin_together() : room_.begin();
        stage_ = Stage::begun;
        return true;
    }
    bool post() {
        PostedMessage::Plan const plan{.bytes = operations_[next_].bytes,
                                       .reads_own = random_() % 2 == 0};
        bool const behind = !posted_.empty();
        std::uint64_t const finished =
            behind ? posted_.front().message.operation() - 1 : room_.operation();
        if (!PostedMessage::can_enter(room_, plan, finished)) return false;
        posted_.push_back({{}, next_, plan.reads_own});
        posted_.back().message.enter(room_, plan, 0, behind);
        if (behind) room_.publish_finished(finished);
        posted_.back().message.publish(room_, message());
        ++next_;
        return true;
    }
    bool end_posted() {
        if (posted_.empty()) return false;
        auto& [message, number, reads_own] = posted_.front();
        if (message.look(room_) != Room::Arrival::here) return false;
        expect(message.of(room_, 1 - room_.rank()), number, 1 - room_.rank());
        if (reads_own) expect(message.of(room_, room_.rank()), number, room_.rank());
        message.finish(room_);
        posted_.pop_front();
        return true;
    }
    bool go_on() {
        if (stage_ == Stage::between) return true;  // it was posted
        auto const& [together, root, bytes] = operations_[next_];
        bool const in_line = bytes <= Room::line_bytes;
        int const other = 1 - room_.rank();
        if (stage_ == Stage::begun && (together || root == room_.rank())) {
            std::byte* to = room_.line(waiter_);
            if (!in_line) to = room_.short_slot(waiter_, bytes);
            auto const bytes_of = message();
            std::memcpy(to, bytes_of.data(), bytes_of.size());
            room_.publish_line();
        }
        stage_ = Stage::published;
        if (together || root == other) {
            room_.await_line(waiter_, other);
            expect(in_line ? room_.line_of(other) : room_.short_slot_of(other, bytes), next_,
                   other);
        }
        if (together) {
            room_.note_all_entered();
            room_.finish_together();
        } else {
            room_.finish();
        }
        stage_ = Stage::between;
        ++next_;
        return true;
    }

    Room& room_;
    std::vector<Operation> const& operations_;
    std::minstd_rand random_;
    ImpatientWaiter waiter_;
    Stage stage_ = Stage::between;
    std::size_t next_ = 0;
    std::deque<Posted> posted_;
};

// In any order of their steps, whether a rank waits in a call or has posted it, each finds what the other has written.
TEST(RoomOfTwo, EachFindsTheOthersMessageWhateverCallsAreMixed) {
    for (unsigned seed = 1; seed <= 40; ++seed) {
        std::minstd_rand random(seed);
        std::vector<Stepping::Operation> operations;
        bool const mostly_together = seed % 2 == 0;
        for (int i = 0; i < 2000; ++i) {
            constexpr std::array<std::size_t, 6> sizes{8, 56, 200, 1000, 1024, 3000};
            operations.push_back({mostly_together ? random() % 16 != 0 : random() % 2 == 0,
                                  static_cast<int>(random() % 2), sizes[random() % sizes.size()]});
        }
        std::uint64_t const begun = seed % 5 == 0 ? ~std::uint64_t{0} - 1000 : 0;
        TwoRooms two(begun);
        std::array<Stepping, 2> ranks{Stepping{two.first, operations, seed},
                                      Stepping{two.second, operations, seed + 100}};
        int idle = 0;
        while (!ranks[0].done() || !ranks[1].done()) {
            // Now and then a rank stands still for long.
            std::size_t const self = random() % 64 == 0 ? random() % 2 : (random() >> 8) % 2;
            idle = ranks.at(self).step() ? 0 : idle + 1;
            ASSERT_LT(idle, 1000) << "no rank can go on, seed " << seed;
        }
        if (HasFailure()) break;
    }
}

}  // namespace
}  // namespace sinew::node_memory
