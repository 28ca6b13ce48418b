// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/polling_pause.hpp"

#include <gtest/gtest.h>

namespace sinew {
namespace {

using namespace std::chrono_literals;

int naps_in_a_row(PollingPause& pause) {
    int naps = 0;
    while (pause.naps()) ++naps;
    return naps;
}

TEST(PollingPause, YieldsAmongThreadsThatPoll) {
    PollingPause pause;
    for (int i = 0; i < 1000; ++i) {
        EXPECT_FALSE(pause.naps());
        pause.yielded(1us);
    }
}

TEST(PollingPause, NapsEverLongerBesideThreadsThatCompute) {
    PollingPause pause;
    int before = 0;
    for (int i = 0; i < 3; ++i) {
        pause.yielded(3ms);
        int const naps = naps_in_a_row(pause);
        EXPECT_GT(naps, before);
        before = naps;
    }
}

TEST(PollingPause, GoesOnAskingWhetherTheyAreStillThere) {
    PollingPause pause;
    for (int i = 0; i < 100; ++i) {
        pause.yielded(3ms);
        EXPECT_LE(naps_in_a_row(pause), 1024);
    }
    pause.yielded(1us);
    EXPECT_EQ(naps_in_a_row(pause), 0);
    pause.yielded(3ms);
    EXPECT_LE(naps_in_a_row(pause), 16);
}

TEST(PollingPause, EndsWhateverTheOthersDo) {
    for (int i = 0; i < 1000; ++i) pause_between_polls();
}

}  // namespace
}  // namespace sinew
