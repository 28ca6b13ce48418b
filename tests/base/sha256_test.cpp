// SPDX-License-Identifier: Apache-2.0
#include "src/base/sha256.hpp"

#include <gtest/gtest.h>

#include <string_view>

namespace sinew {
namespace {

// FIPS 180-4, example for one block: "abc".
TEST(Sha256s, AreThoseOfTheStandard) {
    constexpr Sha256::Digest expected{
        std::byte{0xba}, std::byte{0x78}, std::byte{0x16}, std::byte{0xbf}, std::byte{0x8f},
        std::byte{0x01}, std::byte{0xcf}, std::byte{0xea}, std::byte{0x41}, std::byte{0x41},
        std::byte{0x40}, std::byte{0xde}, std::byte{0x5d}, std::byte{0xae}, std::byte{0x22},
        std::byte{0x23}, std::byte{0xb0}, std::byte{0x03}, std::byte{0x61}, std::byte{0xa3},
        std::byte{0x96}, std::byte{0x17}, std::byte{0x7a}, std::byte{0x9c}, std::byte{0xb4},
        std::byte{0x10}, std::byte{0xff}, std::byte{0x61}, std::byte{0xf2}, std::byte{0x00},
        std::byte{0x15}, std::byte{0xad}};
    std::string_view const text = "abc";
    Sha256 whole, pieces;
    whole.add(text.data(), 3);
    EXPECT_EQ(whole.digest(), expected);
    pieces.add(text.data(), 1);
    pieces.add(text.data() + 1, 2);
    EXPECT_EQ(pieces.digest(), expected);
}

}  // namespace
}  // namespace sinew
