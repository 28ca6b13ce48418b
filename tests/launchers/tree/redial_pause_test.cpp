// SPDX-License-Identifier: Apache-2.0
#include "launchers/tree/redial_pause.hpp"

#include <gmock/gmock.h>

#include <set>

namespace sinew::launch {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Ge;
using testing::Le;
using Duration = wire::Clock::duration;

TEST(RedialPause, IsTheSameForAnAgentThatTheRootHasStarted) {
    RedialPause pause(false);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(pause.next(i % 2 == 0), Duration(100ms));
}

TEST(RedialPause, GrowsWhileTheRootAnswersButDoesNotAccept) {
    RedialPause pause(true);
    for (Duration most = 100ms; most < 2s; most *= 2)
        EXPECT_THAT(pause.next(false), AllOf(Ge(most / 2), Le(most)));
    for (int i = 0; i < 10; ++i) EXPECT_THAT(pause.next(false), AllOf(Ge(Duration(1s)), Le(2s)));
    pause.reset();
    EXPECT_LE(pause.next(false), Duration(100ms));
}

// wire::dial has had pauses between its connections all the time.
TEST(RedialPause, IsNoneWhenNobodyHasAcceptedAConnection) {
    RedialPause pause(true);
    for (int i = 0; i < 10; ++i) EXPECT_EQ(pause.next(true), Duration::zero());
    EXPECT_LE(pause.next(false), Duration(100ms));
}

TEST(RedialPause, DiffersBetweenAgentsThatWaitForOneRoot) {
    std::set<Duration> pauses;
    for (int agent = 0; agent < 100; ++agent) pauses.insert(RedialPause(true).next(false));
    EXPECT_GT(pauses.size(), 20u);
}

}  // namespace
}  // namespace sinew::launch
