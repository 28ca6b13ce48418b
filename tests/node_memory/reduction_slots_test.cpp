// SPDX-License-Identifier: Apache-2.0
// The slots in which one of two ranks puts the result in the place of the other's contribution.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "tests/node_memory/two_rooms.hpp"

namespace sinew::node_memory {
namespace {

// The steps of TwoShotInPlace, of two ranks, alternate in any order. Each finds in the slots what it expects.
TEST(ReductionSlots, AreNotWrittenWhileTheyAreRead) {
    enum class Step : std::uint8_t { contribute, combine, copy, collect };
    struct Action {
        Step step;
        std::size_t round;
    };
    auto const actions_of = [](std::size_t rounds) {
        std::vector<Action> actions{{Step::contribute, 0}};
        for (std::size_t round = 0; round <= rounds; ++round) {
            if (round + 1 < rounds) actions.push_back({Step::contribute, round + 1});
            if (round < rounds) actions.push_back({Step::combine, round});
            if (round < rounds) actions.push_back({Step::copy, round});
            if (round > 0) actions.push_back({Step::collect, round - 1});
        }
        return actions;
    };
    TwoRooms two;
    struct Rank {
        Room& room;
        std::size_t operation = 0, next = 0;        // the next action of the operation
        std::size_t contributed = 0, combined = 0;  // rounds of all operations
        std::size_t before = 0;                     // rounds of earlier operations
    };
    std::array<Rank, 2> ranks{Rank{two.first}, Rank{two.second}};
    std::minstd_rand random(5);
    std::vector<std::vector<Action>> operations;
    std::vector<std::size_t> rounds;
    for (int i = 0; i < 3000; ++i) {
        rounds.push_back(1 + random() % 7);
        operations.push_back(actions_of(rounds.back()));
    }
    auto const value = [](std::size_t writer, bool result, std::size_t round) {
        return round * 4 + (result ? 2 : 0) + writer;
    };
    auto const expect = [](std::byte const* slot, std::size_t expected) {
        std::size_t found = 0;
        std::memcpy(&found, slot, sizeof found);
        return found == expected;
    };
    std::size_t steps = 0;
    while (ranks[0].operation < rounds.size() || ranks[1].operation < rounds.size()) {
        ASSERT_LT(++steps, 1'000'000u) << "no rank can go on";
        // One rank runs ahead as far as it can, as often as not.
        std::size_t const self = random() % 1000 < 900 ? steps / 50 % 2 : random() % 2;
        std::size_t const peer = 1 - self;
        Rank &rank = ranks.at(self), &other = ranks.at(peer);
        if (rank.operation == rounds.size()) continue;
        Action const action = operations[rank.operation][rank.next];
        std::size_t const round = rank.before + action.round;
        auto const slot_of = [&](std::size_t owner) {
            return rank.room.reduction_slot(static_cast<int>(owner), action.round);
        };
        switch (action.step) {
            case Step::contribute: {
                std::size_t const message = value(self, false, round);
                std::memcpy(slot_of(self), &message, sizeof message);
                ++rank.contributed;
                break;
            }
            case Step::combine: {
                if (other.contributed <= round) continue;
                ASSERT_TRUE(expect(slot_of(peer), value(peer, false, round))) << round;
                std::size_t const result = value(self, true, round);
                std::memcpy(slot_of(peer), &result, sizeof result);
                ++rank.combined;
                break;
            }
            case Step::copy:
                ASSERT_TRUE(expect(slot_of(peer), value(self, true, round))) << round;
                break;
            case Step::collect:
                if (other.combined <= round) continue;
                ASSERT_TRUE(expect(slot_of(self), value(peer, true, round))) << round;
                break;
        }
        if (++rank.next < operations[rank.operation].size()) continue;
        rank.room.end_reduction(rounds[rank.operation]);
        rank.before += rounds[rank.operation++];
        rank.next = 0;
    }
}

}  // namespace
}  // namespace sinew::node_memory
