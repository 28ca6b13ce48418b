// SPDX-License-Identifier: Apache-2.0
#include "src/ring/commits.hpp"

#include <gmock/gmock.h>

namespace sinew::ring {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

State state(int value) { return {"i", {static_cast<std::byte>(value)}}; }
int value(std::shared_ptr<State const> const& one) {
    return one ? std::to_integer<int>(one->value.at(0)) : -1;
}

TEST(RingCommits, CountWhenAllHaveMadeThem) {
    Commits commits(2);
    EXPECT_FALSE(commits.add(1, 1, state(11)));
    EXPECT_EQ(commits.count(), 0u);
    EXPECT_TRUE(commits.pending());
    EXPECT_THAT(commits.waiting(), ElementsAre(1));
    EXPECT_THAT(commits.missing(), ElementsAre(0));
    EXPECT_TRUE(commits.add(0, 1, state(10)));
    EXPECT_EQ(commits.count(), 0u);
    EXPECT_EQ(value(commits.next().at(0)), 10);
    commits.settle();
    EXPECT_EQ(commits.count(), 1u);
    EXPECT_FALSE(commits.pending());
    EXPECT_EQ(value(commits.state(0)), 10);
    EXPECT_EQ(value(commits.state(1)), 11);
}

TEST(RingCommits, KeepTheLastWhileTheNextIsNotWhole) {
    Commits commits(2);
    commits.add(0, 1, state(10));
    commits.add(1, 1, state(11));
    commits.settle();
    commits.add(0, 2, state(20));
    EXPECT_EQ(value(commits.state(0)), 10);
    commits.drop_pending();
    EXPECT_FALSE(commits.pending());
    EXPECT_THAT(commits.waiting(), IsEmpty());
    EXPECT_FALSE(commits.add(1, 2, state(21)));  // the dropped one no longer counts
    EXPECT_TRUE(commits.add(0, 2, state(22)));
    commits.settle();
    EXPECT_EQ(value(commits.state(0)), 22);
    EXPECT_EQ(commits.count(), 2u);
}

TEST(RingCommits, RefuseWhatIsNotDue) {
    Commits commits(2);
    EXPECT_THROW(commits.add(0, 2, state(1)), DecodeError);
    commits.add(0, 1, state(1));
    EXPECT_THROW(commits.add(0, 1, state(1)), DecodeError);
}

TEST(RingCommits, AreTakenUpWhereAnEarlierRingHasLeftThem) {
    Commits commits(2);
    commits.resume(
        7, {std::make_shared<State const>(state(70)), std::make_shared<State const>(state(71))});
    EXPECT_EQ(commits.count(), 7u);
    EXPECT_EQ(value(commits.state(1)), 71);
    EXPECT_THROW(commits.add(0, 7, state(1)), DecodeError);
    EXPECT_FALSE(commits.add(0, 8, state(80)));
}

TEST(RingCommits, OfOneMemberCountAtOnce) {
    Commits commits(1);
    EXPECT_EQ(value(commits.state(0)), -1);
    EXPECT_TRUE(commits.add(0, 1, state(5)));
    commits.settle();
    EXPECT_EQ(value(commits.state(0)), 5);
}

}  // namespace
}  // namespace sinew::ring
