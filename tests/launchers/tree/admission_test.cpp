// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/admission.hpp"

#include <gmock/gmock.h>
#include <sinew/version.hpp>

namespace sinew::launch {
namespace {

using testing::HasSubstr;

Hello hello(int node, std::uint64_t process, std::int64_t began_ms = 0,
            std::uint32_t incarnation = 0) {
    Hello words;
    words.node = node;
    words.version = std::string(version());
    words.process = process;
    words.began_ms = began_ms;
    words.incarnation = incarnation;
    return words;
}

TEST(Admission, TakesTheIncarnationThatWasStarted) {
    Admission door;
    door.expect(1, 2);
    EXPECT_THAT(door.judge(1, hello(1, 7, 0, 1), false).refused, HasSubstr("another incarnation"));
    EXPECT_EQ(door.judge(1, hello(1, 7, 0, 2), false).refused, "");
    EXPECT_EQ(door.judge(1, hello(1, 7, 0, 2), true).refused, "") << "it looks for another parent";
    EXPECT_THAT(door.judge(1, hello(2, 7, 0, 2), false).refused, HasSubstr("no node 1"))
        << "the link is of node 1";
    door.gone(1);
    EXPECT_NE(door.judge(1, hello(1, 7, 0, 2), false).refused, "") << "it does not come again";
    auto other = hello(1, 8, 0, 3);
    other.version = "0.0.1";
    door.expect(1, 3);
    EXPECT_THAT(door.judge(1, other, false).refused, HasSubstr("it is sinew 0.0.1"));
}

TEST(Admission, TakesTheNewestOfThoseThatComeByThemselves) {
    Admission door;
    door.expect_by_itself(1);
    EXPECT_EQ(door.judge(1, hello(1, 7, 100), false).refused, "");
    EXPECT_FALSE(door.judge(1, hello(1, 7, 100), true).replaces) << "it looks for another parent";
    auto const next = door.judge(1, hello(1, 8, 200), true);
    EXPECT_EQ(next.refused, "");
    EXPECT_TRUE(next.replaces) << "the link of the first one may be half-open";
    auto const old = door.judge(1, hello(1, 7, 100), true);
    EXPECT_THAT(old.refused, HasSubstr("another agent has taken the place"));
    EXPECT_FALSE(old.later);
    door.gone(1);
    EXPECT_NE(door.judge(1, hello(1, 7, 100), false).refused, "")
        << "not either when its replacement is gone";
    EXPECT_FALSE(door.judge(1, hello(1, 9, 50), false).replaces) << "nobody is present";
}

TEST(Admission, LetsOneThatHasLostItsRootDialAgain) {
    Admission door;
    door.expect_by_itself(1);
    door.judge(1, hello(1, 7, 100, 0), false);
    auto const again = door.judge(1, hello(1, 7, 100, 1), true);
    EXPECT_EQ(again.refused, "");
    EXPECT_TRUE(again.replaces) << "its ranks have ended, which is not known here yet";
    door.judge(1, hello(1, 8, 200), true);
    EXPECT_FALSE(door.judge(1, hello(1, 7, 100, 2), true).later) << "it is replaced for good";
}

// The clocks of hosts differ, so that one that seems older may be the replacement.
TEST(Admission, AsksOneThatSeemsOlderToTryLater) {
    Admission door;
    door.expect_by_itself(1);
    door.judge(1, hello(1, 7, 100), false);
    auto const older = door.judge(1, hello(1, 8, 50), true);
    EXPECT_THAT(older.refused, HasSubstr("began later"));
    EXPECT_TRUE(older.later);
    door.gone(1);
    EXPECT_EQ(door.judge(1, hello(1, 8, 50), false).refused, "");
}

TEST(Admission, KnowsWhoIsNotWanted) {
    Admission door;
    EXPECT_TRUE(door.judge(4, hello(4, 7), false).later) << "the number of nodes may grow";
    door.expect_by_itself(4);
    EXPECT_EQ(door.judge(4, hello(4, 7), false).refused, "");
    door.judge(4, hello(4, 8, 1), true);
    door.dismiss(4);
    EXPECT_THAT(door.judge(4, hello(4, 9, 2), false).refused, HasSubstr("no node 4 is expected"));
    door.expect_by_itself(4);
    EXPECT_NE(door.judge(4, hello(4, 7), false).refused, "") << "who was replaced is remembered";
}

}  // namespace
}  // namespace sinew::launch
