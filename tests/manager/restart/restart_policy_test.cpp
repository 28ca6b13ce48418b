// SPDX-License-Identifier: Apache-2.0
#include "src/manager/restart/restart_policy.hpp"

#include <gtest/gtest.h>

namespace sinew::manager {
namespace {

TEST(RestartPolicy, ThoseThatDieBeforeTheyCanBeCalledComeEverMoreSlowly) {
    using std::chrono::milliseconds;
    RestartPolicy lives(20);
    lives.alive();
    EXPECT_EQ(lives.died("killed"), milliseconds(0));
    EXPECT_EQ(lives.died("killed"), milliseconds(100));
    EXPECT_EQ(lives.died("killed"), milliseconds(200));
    for (int i = 0; i < 10; ++i) lives.died("killed");
    EXPECT_EQ(lives.died("killed"), milliseconds(5000));
    lives.alive();
    EXPECT_EQ(lives.died("killed"), milliseconds(0));
    EXPECT_EQ(lives.died("killed"), milliseconds(100));
}

TEST(RestartPolicy, SayHowOftenAndHowTheyEnded) {
    RestartPolicy lives(1);
    lives.alive();
    EXPECT_TRUE(lives.died("killed by signal 9"));
    EXPECT_FALSE(lives.died("exited with code 3"));
    EXPECT_EQ(lives.state(), RestartPolicy::State::lost);
    EXPECT_EQ(lives.end_text().find("exited with code 3, after 1 restart"), 0U) << lives.end_text();
    EXPECT_FALSE(lives.died("again"));
}

}  // namespace
}  // namespace sinew::manager
