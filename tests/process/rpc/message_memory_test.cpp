// SPDX-License-Identifier: Apache-2.0
// Messages in pieces if allocation fails or the sender's memory limit is reached.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "src/process/rpc/message.hpp"

namespace {

// Atomic, since other tests of the program have threads.
std::atomic<int> reallocs = 0;
std::atomic<bool> realloc_fails = false;

}  // namespace

// The linker replaces realloc by these, see CMakeLists.txt.
extern "C" void* __real_realloc(void* block, std::size_t size);
extern "C" void* __wrap_realloc(void* block, std::size_t size) {
    ++reallocs;
    return realloc_fails ? nullptr : __real_realloc(block, size);
}

namespace sinew::process {
namespace {

std::vector<std::byte> begin_frame(std::uint64_t transfer, std::uint64_t size) {
    MessageHeader const head{.service = ServiceId::manager, .size = size};
    std::vector<std::byte> frame(sizeof transfer + sizeof head);
    std::memcpy(frame.data(), &transfer, sizeof transfer);
    std::memcpy(frame.data() + sizeof transfer, &head, sizeof head);
    return frame;
}

std::vector<std::byte> piece_frame(std::uint64_t transfer, std::size_t size, int fill) {
    std::vector<std::byte> frame(sizeof transfer + size, std::byte(fill));
    std::memcpy(frame.data(), &transfer, sizeof transfer);
    return frame;
}

TEST(MessageMemory, WhereThereIsNoneNothingIsWrittenAndTheMessageIsForgotten) {
    Assembler assembler;
    ASSERT_TRUE(assembler.begin(begin_frame(1, 1 << 20)));
    EXPECT_FALSE(assembler.piece(piece_frame(1, 4096, 1)));
    if (reallocs == 0) GTEST_SKIP() << "the library's calls are not to be intercepted";
    realloc_fails = true;
    EXPECT_THROW((void)assembler.piece(piece_frame(1, 8192, 2)), std::bad_alloc);
    realloc_fails = false;
    // Regression: these "fitted" into a block that had not grown.
    for (int i = 0; i < 200; ++i)
        EXPECT_FALSE(assembler.piece(piece_frame(1, 4096, 3))) << "it is none any more";
    ASSERT_TRUE(assembler.begin(begin_frame(1, 10'000))) << "its number is free again";
    EXPECT_FALSE(assembler.piece(piece_frame(1, 6000, 4)));
    auto const message = assembler.piece(piece_frame(1, 4000, 5));
    ASSERT_TRUE(message);
    ASSERT_EQ(message->bytes.size(), 10'000u);
    EXPECT_EQ(message->bytes[5999], std::byte{4});
    EXPECT_EQ(message->bytes[6000], std::byte{5});
}

TEST(MessageMemory, CountsForTheSenderUntilTheMessageIsThereOrGivenUp) {
    auto const budget = std::make_shared<MemoryBudget>(1 << 20);
    {
        Assembler assembler(budget);
        EXPECT_FALSE(assembler.begin(begin_frame(1, (1 << 20) + 1))) << "more than it may have";
        EXPECT_EQ(budget->used(), 0u);
        ASSERT_TRUE(assembler.begin(begin_frame(2, 10'000)));
        EXPECT_FALSE(assembler.piece(piece_frame(2, 6000, 1)));
        EXPECT_GE(budget->used(), 6000u);
        EXPECT_TRUE(assembler.piece(piece_frame(2, 4000, 1)));
        EXPECT_EQ(budget->used(), 0u);
        for (std::uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(assembler.begin(begin_frame(i, 1)));
        EXPECT_GE(budget->used(), 100'000u) << "those that never go on, too";
        for (std::uint64_t i = 0; i < 999; ++i) assembler.abort(piece_frame(i, 0, 0));
        EXPECT_GT(budget->used(), 0u);
    }
    EXPECT_EQ(budget->used(), 0u);
}

}  // namespace
}  // namespace sinew::process
