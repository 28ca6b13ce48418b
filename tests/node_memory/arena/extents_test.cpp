// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/arena/extents.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>

namespace sinew::node_memory {
namespace {

TEST(Extents, TakesTheFirstFreePartThatFits) {
    Extents extents(100, 200);
    EXPECT_EQ(extents.take(40, 1), 100u);
    EXPECT_EQ(extents.take(40, 1), 140u);
    EXPECT_EQ(extents.take(40, 1), std::nullopt);
    EXPECT_EQ(extents.take(20, 1), 180u);
    EXPECT_EQ(extents.take(1, 1), std::nullopt);
    extents.give_back(100, 40);
    EXPECT_EQ(extents.take(30, 1), 100u);
    EXPECT_EQ(extents.take(10, 1), 130u);
}

TEST(Extents, KeepsWhatLiesBeforeAnAlignedPart) {
    Extents extents(100, 300);
    EXPECT_EQ(extents.take(64, 64), 128u);
    EXPECT_EQ(extents.take(28, 1), 100u);
    EXPECT_EQ(extents.take(64, 64), 192u);
    EXPECT_EQ(extents.take(64, 64), std::nullopt);  // 256 to 300
    EXPECT_EQ(extents.take(44, 64), 256u);
}

TEST(Extents, JoinsNeighboursInAnyOrder) {
    for (int order = 0; order < 6; ++order) {
        Extents extents(0, 30);
        std::array<std::uint64_t, 3> parts{0, 10, 20};
        for (std::uint64_t const part : parts) ASSERT_EQ(extents.take(10, 1), part);
        for (int i = 0; i < order; ++i) std::next_permutation(parts.begin(), parts.end());
        for (std::uint64_t const part : parts) extents.give_back(part, 10);
        EXPECT_EQ(extents.take(30, 1), 0u) << "order " << order;
    }
}

TEST(Extents, RefusesWhatDoesNotFitNearTheEndOfAllNumbers) {
    Extents extents(~std::uint64_t{0} - 100, ~std::uint64_t{0});
    EXPECT_EQ(extents.take(1, 4096), std::nullopt);
    EXPECT_EQ(extents.take(~std::uint64_t{0}, 1), std::nullopt);
    EXPECT_TRUE(extents.take(100, 1));
}

// Compared with a list of what is in use: nothing overlaps, and a refusal is right.
TEST(Extents, RandomUseNeverOverlapsAndLosesNothing) {
    constexpr std::uint64_t begin = 4096, end = 4096 + 1000;
    Extents extents(begin, end);
    std::map<std::uint64_t, std::uint64_t> used;  // begin, end
    std::mt19937 random(7);
    auto const fits = [&](std::uint64_t bytes, std::uint64_t alignment) {
        std::uint64_t free_from = begin;
        auto const gap = [&](std::uint64_t to) {
            std::uint64_t const first = (free_from + alignment - 1) / alignment * alignment;
            return first + bytes <= to;
        };
        for (auto const& [first, last] : used) {
            if (gap(first)) return true;
            free_from = last;
        }
        return gap(end);
    };
    for (int i = 0; i < 20000; ++i) {
        if (random() % 2 == 0 && !used.empty()) {
            auto const one = std::next(used.begin(), random() % used.size());
            extents.give_back(one->first, one->second - one->first);
            used.erase(one);
            continue;
        }
        std::uint64_t const bytes = 1 + random() % 80;
        std::uint64_t const alignment = std::uint64_t{1} << random() % 7;
        bool const expected = fits(bytes, alignment);
        auto const taken = extents.take(bytes, alignment);
        ASSERT_EQ(taken.has_value(), expected) << "step " << i;
        if (!taken) continue;
        ASSERT_EQ(*taken % alignment, 0u);
        ASSERT_GE(*taken, begin);
        ASSERT_LE(*taken + bytes, end);
        auto const next = used.lower_bound(*taken);
        ASSERT_TRUE(next == used.end() || *taken + bytes <= next->first);
        ASSERT_TRUE(next == used.begin() || std::prev(next)->second <= *taken);
        used[*taken] = *taken + bytes;
    }
    for (auto const& [first, last] : used) extents.give_back(first, last - first);
    EXPECT_EQ(extents.take(end - begin, 1), begin);
}

}  // namespace
}  // namespace sinew::node_memory
