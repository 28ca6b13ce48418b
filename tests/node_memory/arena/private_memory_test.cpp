// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/arena/private_memory.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "src/node_memory/arena/arena.hpp"

namespace sinew::node_memory {
namespace {

std::uint64_t address_of(void const* data) { return reinterpret_cast<std::uint64_t>(data); }

/// Whether this process may read memory by the system call at all.
bool is_permitted() {
    char const byte = 0;
    return is_readable_privately(&byte, 1);
}

class PrivateMemory : public ::testing::Test {
protected:
    void SetUp() override {
        if (!is_permitted()) GTEST_SKIP() << "process_vm_readv is not permitted here";
    }
};

TEST_F(PrivateMemory, IsReadCompletely) {
    std::vector<char> from(1000001), to(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 7);
    EXPECT_EQ(read_private(::getpid(), address_of(from.data()), to.data(), to.size()), 0);
    EXPECT_EQ(from, to);
    EXPECT_EQ(read_private(::getpid(), address_of(from.data()), to.data(), 0), 0);
}

TEST_F(PrivateMemory, OfAProcessThatHasEndedIsGone) {
    pid_t const child = ::fork();
    if (child == 0) ::_exit(0);
    int const word = 1;
    int to = 0;
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(read_private(child, address_of(&word), &to, sizeof to), ESRCH);
}

TEST_F(PrivateMemory, ThatIsNotMappedIsAnError) {
    constexpr std::size_t page = 4096;
    void* const pages =
        ::mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(pages, MAP_FAILED);
    EXPECT_TRUE(is_readable_privately(pages, 2 * page)) << "though never written";
    ASSERT_EQ(::munmap(static_cast<char*>(pages) + page, page), 0);
    EXPECT_FALSE(is_readable_privately(pages, 2 * page));
    std::vector<char> to(2 * page);
    EXPECT_EQ(read_private(::getpid(), address_of(pages), to.data(), to.size()), EFAULT);
    ::munmap(pages, page);
}

TEST_F(PrivateMemory, IsReadByRanksOfAnArenaThatHaveTried) {
    auto const first = Arena::make(Source::memfd, 2);
    EXPECT_NE(first->refusal_to_read_private(), "") << "the second has not come yet";
    auto const second = Arena::open(first->name(), 1, 2);
    EXPECT_EQ(first->refusal_to_read_private(), "");
    EXPECT_EQ(second->refusal_to_read_private(), "");
    EXPECT_FALSE(second->reads_private()) << "all must be able to";
    second->read_private_from_now_on();
    EXPECT_TRUE(second->reads_private());
}

TEST(PrivateMemoryOff, IsNotReadIfARankIsToldSo) {
    ASSERT_EQ(::setenv("SINEW_SINGLE_COPY", "0", 1), 0);
    auto const arena = Arena::make(Source::memfd, 1);
    ::unsetenv("SINEW_SINGLE_COPY");
    EXPECT_EQ(arena->refusal_to_read_private(), "SINEW_SINGLE_COPY=0");
}

}  // namespace
}  // namespace sinew::node_memory
