// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/wake_up.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sinew/error.hpp>

namespace sinew {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

TEST(WakeUp, WhatIsKeptCountsForADayOfThisBoot) {
    auto const line = wake_up_text(21500ns, "boot", 1'000'000);
    EXPECT_EQ(wake_up_from_text(line, "boot", 1'000'000), 21500ns);
    EXPECT_EQ(wake_up_from_text(line, "boot", 1'000'000 + 86'399), 21500ns);
    EXPECT_FALSE(wake_up_from_text(line, "boot", 1'000'000 + 86'400)) << "stale";
    EXPECT_FALSE(wake_up_from_text(line, "boot", 999'999)) << "of the future";
    EXPECT_FALSE(wake_up_from_text(line, "another", 1'000'000)) << "of another boot";
}

TEST(WakeUp, WhatIsAbsurdIsMeasuredAnew) {
    for (auto const* line : {"", "x", "21500", "21500 boot", "-1 boot 5", "0 boot 5", "10 boot 5",
                             "30000000000 boot 5", "99999999999999999999 boot 5"})
        EXPECT_FALSE(wake_up_from_text(line, "boot", 5)) << line;
}

TEST(WakeUp, IsMeasuredOrNotButNeverAbsurd) {
    for (int i = 0; i < 20; ++i) {
        auto const found = measure_wake_up();
        if (!found) continue;  // the machine is busy, or has one processor
        EXPECT_GE(*found, 500ns);
        EXPECT_LE(*found, 1ms);
    }
}

TEST(WakeUp, WhoHasLessThanTwoProcessorsDoesNotLook) {
    EXPECT_TRUE(may_spin(2, {}));
    EXPECT_TRUE(may_spin(64, 2.0));
    EXPECT_FALSE(may_spin(1, {}));
    EXPECT_FALSE(may_spin(64, 1.0));
    EXPECT_FALSE(may_spin(64, 1.9));
}

struct WakeUpKept : testing::Test {
    WakeUpKept() {
        std::string pattern = (fs::temp_directory_path() / "sinew-wake-up-XXXXXX").string();
        folder = ::mkdtemp(pattern.data());
        ::setenv("XDG_CACHE_HOME", folder.c_str(), 1);
        ::unsetenv("SINEW_WAKE_UP");
    }
    ~WakeUpKept() override {
        ::unsetenv("XDG_CACHE_HOME");
        ::unsetenv("SINEW_WAKE_UP");
        ::unsetenv("SINEW_SPIN");
        fs::remove_all(folder);
    }
    fs::path folder;
};

TEST_F(WakeUpKept, IsWhatTheVariableSays) {
    ::setenv("SINEW_WAKE_UP", "25us", 1);
    auto const found = find_wake_up();
    EXPECT_NEAR(static_cast<double>(found.cost.count()), 25e3,
                1);  // rounded to a fraction of a second
    EXPECT_EQ(found.source, WakeUp::Source::told);
    EXPECT_TRUE(fs::is_empty(folder)) << "it was kept";
    for (auto const* wrong : {"often", "-1us", "2ms"}) {
        ::setenv("SINEW_WAKE_UP", wrong, 1);
        EXPECT_THROW(find_wake_up(), UsageError) << wrong;
        EXPECT_THROW(check_waiting_settings(), UsageError) << wrong;
    }
}

TEST_F(WakeUpKept, IsMeasuredOnceAndKeptBesideTheModel) {
    auto first = find_wake_up();
    for (int i = 0; i < 100 && first.source == WakeUp::Source::assumed; ++i) first = find_wake_up();
    if (first.source == WakeUp::Source::assumed)
        GTEST_SKIP() << "it cannot be measured here: one processor, or all are busy";
    EXPECT_EQ(first.source, WakeUp::Source::measured);
    auto const second = find_wake_up();
    EXPECT_EQ(second.source, WakeUp::Source::kept);
    EXPECT_EQ(second.cost, first.cost);
    // A damaged file is measured again.
    for (auto const& each : fs::directory_iterator(folder / "sinew"))
        std::ofstream(each.path()) << "nonsense\n";
    EXPECT_NE(find_wake_up().source, WakeUp::Source::kept);
}

TEST_F(WakeUpKept, NobodyLooksWhereTheVariableForbidsIt) {
    ::setenv("SINEW_SPIN", "0", 1);
    EXPECT_FALSE(may_spin());
    ::setenv("SINEW_SPIN", "perhaps", 1);
    EXPECT_THROW(may_spin(), UsageError);
}

}  // namespace
}  // namespace sinew
