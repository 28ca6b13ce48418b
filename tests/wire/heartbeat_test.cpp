// SPDX-License-Identifier: Apache-2.0
#include "src/wire/heartbeat.hpp"

#include <gtest/gtest.h>

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using Verdict = Heartbeat::Verdict;

/// A clock that is advanced by the test.
struct HeartbeatTest : testing::Test {
    /// The last Verdict during a time of silence, judged at every tick.
    Verdict silent(Clock::duration time) {
        Verdict last = Verdict::nothing_new;
        for (auto const until = now + time; now < until;) {
            now += heartbeat.tick();
            auto const verdict = heartbeat.judge(now, false, 0s);
            if (verdict != Verdict::nothing_new) last = verdict;
        }
        return last;
    }

    Clock::time_point now{};
    Heartbeat heartbeat{LinkOptions{}, now};
};

TEST_F(HeartbeatTest, SuspectsThenGivesUp) {
    EXPECT_EQ(silent(3s), Verdict::nothing_new);
    EXPECT_EQ(silent(1s), Verdict::suspect);
    EXPECT_EQ(silent(2s), Verdict::nothing_new);
    EXPECT_EQ(silent(1s), Verdict::dead);
}

TEST_F(HeartbeatTest, TakesASuspectBack) {
    EXPECT_EQ(silent(4s), Verdict::suspect);
    now += heartbeat.tick();
    EXPECT_EQ(heartbeat.judge(now, true, 0s), Verdict::alive);
    EXPECT_EQ(silent(3s), Verdict::nothing_new);
}

TEST_F(HeartbeatTest, DoesNotTakeItsOwnDelayForThePeersSilence) {
    EXPECT_EQ(silent(1s), Verdict::nothing_new);
    now += 60s;  // this process was stopped
    EXPECT_EQ(heartbeat.judge(now, false, 60s), Verdict::nothing_new);
    EXPECT_EQ(silent(1s), Verdict::nothing_new);  // 2.5 s in all
    EXPECT_EQ(silent(1s), Verdict::suspect);
}

TEST_F(HeartbeatTest, IsMorePatientOnASlowLoop) {
    silent(4s);
    for (int i = 0; i < 8; ++i) {
        now += heartbeat.tick();
        EXPECT_NE(heartbeat.judge(now, false, 3s), Verdict::dead);
    }
    EXPECT_GT(heartbeat.silence(now), 6s);
    EXPECT_EQ(silent(1s), Verdict::dead);  // no longer slow
}

TEST_F(HeartbeatTest, BeatsOnlyWhenNothingElseIsSent) {
    int beats = 0;
    for (int i = 0; i < 20; ++i) beats += heartbeat.due(now += heartbeat.tick(), false);
    EXPECT_EQ(beats, 10);  // in 10 s
    for (int i = 0; i < 20; ++i) EXPECT_FALSE(heartbeat.due(now += heartbeat.tick(), true));
}

TEST(Heartbeat, HasNothingToDoWithoutTimes) {
    LinkOptions options;
    options.heartbeat = options.dead_after = 0s;
    EXPECT_EQ(Heartbeat(options, {}).tick(), 0s);
}

}  // namespace
}  // namespace sinew::wire
