// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <sinew/version.hpp>
#include <string>

TEST(Version, IsTheSameInHeaderAndLibrary) {
    auto const number = [](int part) { return std::to_string(part); };
    EXPECT_EQ(sinew::version(), number(sinew::version_major) + "." + number(sinew::version_minor) +
                                    "." + number(sinew::version_patch));
}
