// SPDX-License-Identifier: Apache-2.0
// A state larger than a message of a link may be: 1.25 GiB.
#include <gtest/gtest.h>

#include <csignal>
#include <sinew/ring.hpp>
#include <stdexcept>
#include <vector>

#include "tests/support/leak_check.hpp"

namespace sinew {
namespace {

TEST(RingLarge, StatesAreKeptWhole) {
    testing_support::LeakCheck const leaks;
    Ring ring(
        1,
        [](RingMember& me) {
            constexpr std::size_t size = (std::size_t{5} << 28) + 7;
            if (me.epoch() == 0) {
                std::vector<char> state(size);
                state.front() = 'a';
                state.back() = 'z';
                me.commit(state);
                ::raise(SIGKILL);
            }
            auto const state = me.committed<std::vector<char>>();
            if (!state || state->size() != size || state->front() != 'a' || state->back() != 'z')
                throw std::logic_error("not all of it");
        },
        {.max_restarts = 1});
    ring.run();
    EXPECT_EQ(ring.restarts(), 1);
}

}  // namespace
}  // namespace sinew
