// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/support/flags.hpp"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sinew/error.hpp>

#include "benchmarks/support/program.hpp"

namespace sinew::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class Work>
std::string flags_refusal(Work const& work) {
    try {
        work();
    } catch (UsageError const& problem) {
        return problem.what();
    }
    return {};
}

TEST(Flags, CountsAreAListOfNumbersWithinBounds) {
    EXPECT_THAT(parse_counts("ranks", "2,16,64", 64), ElementsAre(2, 16, 64));
    for (char const* wrong : {"", "0", "-1", "65", "two", "2x", "2,,4", "99999999999"})
        EXPECT_THAT(flags_refusal([&] { parse_counts("ranks", wrong, 64); }),
                    HasSubstr("must be numbers from 1 to 64, as 2,4"))
            << wrong;
}

TEST(Flags, WhatIsOutOfBoundsIsNamed) {
    EXPECT_EQ(flags_refusal([] { require_rounds(1); }), "");
    EXPECT_EQ(flags_refusal([] { require_rounds(0); }), "--rounds 0 (must be 1 to 100000)");
    EXPECT_EQ(flags_refusal([] { require_within("inputs", 9, 2, 8); }),
              "--inputs 9 (must be 2 to 8)");
    EXPECT_EQ(flags_refusal([] { require_seconds(60); }), "");
    EXPECT_THAT(flags_refusal([] { require_seconds(0); }), HasSubstr("--seconds 0"));
    EXPECT_THAT(flags_refusal([] { require_seconds(61); }), HasSubstr("at most 60"));
}

int returns_seven(int, char**) { return 7; }
int throws(int, char**) { throw UsageError("--so (must be such)"); }

TEST(Program, SaysUnderItsNameWhatWentWrong) {
    EXPECT_EQ(run_program("some", returns_seven, 0, nullptr), 7);
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(run_program("some", throws, 0, nullptr), 2);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "some: --so (must be such)\n");
}

TEST(Program, AFileThatCannotBeWrittenIsAnError) {
    auto const path = ::testing::TempDir() + "sinew_flags_test.json";
    write_file(path, "longer than the next\n");
    write_file(path, "{}\n");
    std::ifstream file(path);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "{}\n");
    std::remove(path.c_str());
    EXPECT_THROW(write_file("/nowhere/at/all.json", "{}"), SystemError);
    EXPECT_THROW(write_file("/dev/full", "{}"), SystemError);
}

}  // namespace
}  // namespace sinew::bench
