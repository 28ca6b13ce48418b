// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "src/base/growing_buffer.hpp"

namespace sinew {
namespace {

TEST(GrowingBuffer, TakesAtMostTwiceTheMemoryOfWhatHasArrived) {
    std::vector<std::byte> const bytes(1000);
    GrowingBuffer buffer;
    buffer.append(bytes, std::size_t{1} << 60);  // a false claim
    EXPECT_LE(buffer.capacity(), 2000u);
    for (int i = 0; i < 100; ++i) {
        buffer.append(bytes, std::size_t{1} << 60);
        ASSERT_LE(buffer.capacity(), 2 * buffer.size());
    }
}

TEST(GrowingBuffer, TakesNoMoreThanExpected) {
    std::vector<std::byte> const bytes(1000);
    GrowingBuffer buffer;
    for (int i = 0; i < 5; ++i) buffer.append(bytes, 5000);
    EXPECT_EQ(buffer.capacity(), 5000u);
    EXPECT_EQ(buffer.size(), 5000u);
}

TEST(GrowingBuffer, ThatIsReleasedIsEmptyAndCanBeUsedAgain) {
    std::vector<std::byte> const first(10, std::byte{1}), second(10, std::byte{2});
    GrowingBuffer buffer(first);
    auto const released = buffer.release();
    EXPECT_EQ(buffer.size(), 0u);
    EXPECT_EQ(buffer.capacity(), 0u);
    buffer.append(second, second.size());
    EXPECT_EQ(released.get()[9], std::byte{1});
    EXPECT_EQ(buffer.bytes()[9], std::byte{2});
}

}  // namespace
}  // namespace sinew
