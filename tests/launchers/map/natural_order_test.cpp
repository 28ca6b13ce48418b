// SPDX-License-Identifier: Apache-2.0
#include "launchers/map/natural_order.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sinew::launch {
namespace {

using testing::ElementsAreArray;

TEST(NaturalOrder, PutsNumbersInTheirOrder) {
    std::vector<std::string> const sorted{"",
                                          "1",
                                          "2",
                                          "10",
                                          "A2",
                                          "a",
                                          "a1b2",
                                          "a1b10",
                                          "a01c",
                                          "a1c",
                                          "a2",
                                          "node-1",
                                          "node-2-9",
                                          "node-2-10",
                                          "node007",
                                          "node07",
                                          "node7",
                                          "node8",
                                          "node66",
                                          "node100",
                                          "node99999999999999999999999998",
                                          "node99999999999999999999999999",
                                          "nodf"};
    std::vector<std::string> shuffled = sorted;
    std::sort(shuffled.begin(), shuffled.end());
    std::sort(shuffled.begin(), shuffled.end(), NaturalLess());
    EXPECT_THAT(shuffled, ElementsAreArray(sorted));
}

TEST(NaturalOrder, IsATotalOrder) {
    std::vector<std::string> const texts{"",   "0",   "00", "1",   "01",   "001", "a", "a0",  "a00",
                                         "a1", "a01", "b",  "a1b", "a01a", "10",  "9", "\xff"};
    for (auto const& a : texts)
        for (auto const& b : texts) {
            EXPECT_EQ(compare_natural(a, b), -compare_natural(b, a)) << a << " " << b;
            EXPECT_EQ(compare_natural(a, b) == 0, a == b) << a << " " << b;
            for (auto const& c : texts)
                if (compare_natural(a, b) < 0 && compare_natural(b, c) < 0) {
                    EXPECT_LT(compare_natural(a, c), 0) << a << " " << b << " " << c;
                }
        }
}

}  // namespace
}  // namespace sinew::launch
