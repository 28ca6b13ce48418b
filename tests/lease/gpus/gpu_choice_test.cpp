// SPDX-License-Identifier: Apache-2.0
#include "src/lease/gpus/gpu_choice.hpp"

#include <gmock/gmock.h>

#include <numeric>

namespace sinew::lease {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<int> first(int count) {
    std::vector<int> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

/// Two NUMA nodes with four GPUs each, in pairs behind a PCIe switch; 0-3 and 4-7 by NVLink.
Connections two_quads() {
    Connections all(8);
    for (int one = 0; one < 8; ++one)
        for (int other = 0; other < one; ++other)
            all.set(one, other,
                    one / 4 != other / 4 ? Connections::across_nodes
                                         : Connections::nvlink + (one / 2 == other / 2 ? 2 : 1));
    return all;
}

TEST(GpuChoice, TakesTheLowestNumbersIfAllConnectionsAreAlike) {
    Connections const flat(4);
    EXPECT_THAT(choose_gpus(flat, {0, 1, 2, 3}, {}, 3), ElementsAre(0, 1, 2));
    EXPECT_THAT(choose_gpus(flat, {1, 3}, {}, 1), ElementsAre(1));
    EXPECT_THAT(choose_gpus(flat, {1, 3}, {}, 2), ElementsAre(1, 3));
    EXPECT_THAT(choose_gpus(flat, {1, 3}, {}, 0), IsEmpty());
}

TEST(GpuChoice, KeepsWhatIsHeldIfAllConnectionsAreAlike) {
    Connections const flat(4);
    EXPECT_THAT(choose_gpus(flat, {0, 1, 2, 3}, {2, 3}, 3), ElementsAre(0, 2, 3));
}

TEST(GpuChoice, PrefersNvlinkToASwitchToANumaNode) {
    Connections all(4);
    all.set(0, 1, Connections::numa_node);
    all.set(0, 2, Connections::pcie_bridge);
    all.set(0, 3, Connections::nvlink + 1);
    all.set(1, 2, Connections::host_bridge);
    EXPECT_THAT(choose_gpus(all, {0, 1, 2, 3}, {}, 2), ElementsAre(0, 3));
    EXPECT_THAT(choose_gpus(all, {0, 1, 2}, {}, 2), ElementsAre(0, 2));
    all.set(0, 2, Connections::across_nodes);
    EXPECT_THAT(choose_gpus(all, {0, 1, 2}, {}, 2), ElementsAre(1, 2));
    all.set(1, 2, Connections::across_nodes);
    EXPECT_THAT(choose_gpus(all, {0, 1, 2}, {}, 2), ElementsAre(0, 1));
    EXPECT_THAT(choose_gpus(all, {0, 1, 3}, {0, 1}, 2), ElementsAre(0, 3)) << "held counts last";
}

TEST(GpuChoice, CountsNvlinks) {
    Connections all(3);
    all.set(0, 1, Connections::nvlink + 1);
    all.set(0, 2, Connections::nvlink + 1);
    all.set(1, 2, Connections::nvlink + 2);
    EXPECT_THAT(choose_gpus(all, {0, 1, 2}, {}, 2), ElementsAre(1, 2));
}

TEST(GpuChoice, StaysWithinOneQuad) {
    auto const all = two_quads();
    EXPECT_THAT(choose_gpus(all, {0, 1, 2, 4, 5, 6, 7}, {}, 4), ElementsAre(4, 5, 6, 7));
    EXPECT_THAT(choose_gpus(all, {1, 2, 5, 7}, {}, 2), ElementsAre(1, 2));
    EXPECT_THAT(choose_gpus(all, {1, 4, 5, 7}, {}, 2), ElementsAre(4, 5));
    EXPECT_THAT(choose_gpus(all, first(8), {}, 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(GpuChoice, DoesNotTearAPairApartForOne) {
    auto const all = two_quads();
    EXPECT_THAT(choose_gpus(all, {0, 1, 6}, {}, 1), ElementsAre(6));
    EXPECT_THAT(choose_gpus(all, {4, 5, 6, 7, 1}, {}, 1), ElementsAre(1));
}

TEST(GpuChoice, IsAtLeastAsGoodAsAnyOtherSetByTheWorstConnection) {
    // Pseudo-random connections; every pair is compared with the chosen one.
    unsigned state = 1;
    for (int round = 0; round < 100; ++round) {
        Connections all(7);
        for (int one = 0; one < 7; ++one)
            for (int other = 0; other < one; ++other) {
                state = state * 1103515245U + 12345U;
                all.set(one, other, static_cast<int>(state >> 16 & 7U));
            }
        auto const pair = choose_gpus(all, first(7), {}, 2);
        for (int one = 0; one < 7; ++one)
            for (int other = 0; other < one; ++other)
                EXPECT_GE(all.between(pair[0], pair[1]), all.between(one, other));
    }
}

TEST(GpuChoice, GrowsSetsWhereThereAreTooManyToTry) {
    Connections all(64);  // eight islands: every eighth GPU is one of the same
    for (int one = 0; one < 64; ++one)
        for (int other = 0; other < one; ++other)
            if (one % 8 == other % 8) all.set(one, other, Connections::nvlink + 4);
    auto free = first(64);
    std::erase(free, 8);  // island 0 lacks one
    EXPECT_THAT(choose_gpus(all, free, {}, 8), ElementsAre(1, 9, 17, 25, 33, 41, 49, 57));
    EXPECT_EQ(choose_gpus(all, free, {}, 63).size(), 63U);
}

}  // namespace
}  // namespace sinew::lease
