// SPDX-License-Identifier: Apache-2.0
#include "launchers/program/child_program.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <optional>
#include <sinew/error.hpp>

#include "src/base/system/spawn.hpp"

namespace sinew::launch {
namespace {

using Clock = std::chrono::steady_clock;

// Returns when all that have the other end are gone.
std::string read_to_end(int fd) {
    std::string all;
    std::array<char, 256> buffer{};
    for (ssize_t count = 0; (count = ::read(fd, buffer.data(), buffer.size())) > 0;)
        all.append(buffer.data(), static_cast<std::size_t>(count));
    return all;
}

TEST(ChildProgram, IsFoundInPathAndReturnsItsCode) {
    auto [reader, writer] = make_pipe();
    ChildProgram child({"sh", "-c", "echo out; exit 7"}, {.out = writer.get()});
    writer = {};
    EXPECT_EQ(read_to_end(reader.get()), "out\n");
    EXPECT_EQ(child.wait(), 7);
    ChildProgram killed({"sh", "-c", "kill -9 $$"}, {});
    EXPECT_EQ(killed.wait(), 128 + SIGKILL);
}

TEST(ChildProgram, NamesWhatCannotBeExecuted) {
    try {
        ChildProgram child({"no-such-program-7"}, {});
        FAIL();
    } catch (SystemError const& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr("no-such-program-7 cannot be executed"));
        EXPECT_THAT(error.what(), testing::HasSubstr("PATH"));
    }
}

// One that would wait for ever, as a tar whose reader was not started, is ended with its children.
TEST(ChildProgram, EndsWithItsObject) {
    auto [reader, writer] = make_pipe();
    auto const began = Clock::now();
    {
        ChildProgram child({"sh", "-c", "echo began; sleep 100 & sleep 100"},
                           {.out = writer.get()});
        writer = {};
        std::array<char, 6> said{};
        ASSERT_EQ(::read(reader.get(), said.data(), said.size()), 6);
    }
    EXPECT_EQ(read_to_end(reader.get()), "");
    EXPECT_LT(Clock::now() - began, std::chrono::seconds(50));
}

TEST(ChildProgram, IsKilledIfItDoesNotEnd) {
    auto [reader, writer] = make_pipe();
    {
        ChildProgram child({"sh", "-c", "trap '' TERM; echo began; while :; do sleep 1; done"},
                           {.out = writer.get()});
        writer = {};
        std::array<char, 6> said{};
        ASSERT_EQ(::read(reader.get(), said.data(), said.size()), 6);
    }
    EXPECT_EQ(read_to_end(reader.get()), "");
}

}  // namespace
}  // namespace sinew::launch
