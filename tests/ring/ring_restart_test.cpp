// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <sinew/queue.hpp>
#include <sinew/ring.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/leak_check.hpp"

namespace sinew {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Training {
    int step = 0;
    std::vector<double> weights;
    template <class Archive>
    void serialize(Archive& archive) {
        archive(step, weights);
    }
};

void require_here(bool holds, std::string const& what) {
    if (!holds) throw std::logic_error(what);
}

/// Counts to 6; member 1 dies at step 3 and member 0 at step 5, each before its commit.
void count(RingMember& me) {
    auto progress = me.committed<Training>().value_or(Training{0, {}});
    int const begun = progress.step;
    require_here(begun == (me.epoch() == 0 ? 0 : me.epoch() == 1 ? 3 : 5), "where it goes on");
    require_here(static_cast<int>(progress.weights.size()) == begun, "as many weights as steps");
    for (double const each : progress.weights)
        require_here(each == me.rank() + 2.0 * me.size(), "its own state");
    while (progress.step < 6) {
        if (me.epoch() == 0 && me.rank() == 1 && progress.step == 3) ::raise(SIGKILL);
        if (me.epoch() == 1 && me.rank() == 0 && progress.step == 5) ::raise(SIGUSR1);
        double const reduced = me.communicator().allreduce_value(2.0, sum);
        progress.weights.push_back(me.rank() + reduced);
        ++progress.step;
        me.commit(progress);
        require_here(me.committed<Training>()->step == progress.step, "the last");
    }
}

class RingRestart : public testing::Test {
protected:
    testing_support::LeakCheck leaks;
};

TEST_F(RingRestart, GoesOnFromTheLastCommit) {
    Ring ring(3, task<count>, {.max_restarts = 2});
    auto const statuses = ring.run();
    EXPECT_EQ(ring.restarts(), 2);
    for (auto const& status : statuses) EXPECT_EQ(status.end, "returned");
}

TEST_F(RingRestart, EndsWhenAllAreUsedUp) {
    Ring ring(3, task<count>, {.max_restarts = 1});
    try {
        ring.run();
        FAIL() << "nobody told";
    } catch (RingFailed const& error) {
        EXPECT_EQ(error.rank(), 0);
        EXPECT_THAT(error.what(), HasSubstr("killed by signal 10"));
        EXPECT_EQ(ring.restarts(), 1);
    }
}

TEST_F(RingRestart, IsNotForExceptions) {
    Ring ring(2,
              [](RingMember& me) {
                  if (me.rank() == 0) throw std::domain_error("always");
                  me.communicator().barrier();
              },
              {.max_restarts = 3});
    EXPECT_THROW(ring.run(), RingFailed);
    EXPECT_EQ(ring.restarts(), 0);
}

// One member has committed, the other dies before: the commit does not count.
TEST_F(RingRestart, ForgetsCommitsThatNotAllHaveMade) {
    Ring ring(2,
              [](RingMember& me) {
                  if (me.epoch() == 0) {
                      me.commit(std::string("first"));
                      if (me.rank() == 1) ::raise(SIGKILL);
                      me.commit(std::string("second"));
                  }
                  require_here(me.committed<std::string>() == "first", "the first alone counts");
              },
              {.max_restarts = 1});
    ring.run();
    EXPECT_EQ(ring.restarts(), 1);
}

TEST_F(RingRestart, HasNoStateBeforeTheFirstCommit) {
    Ring ring(2,
              [](RingMember& me) {
                  require_here(!me.committed<int>(), "none");
                  if (me.epoch() == 0 && me.rank() == 1) ::raise(SIGKILL);
                  me.communicator().barrier();
              },
              {.max_restarts = 1});
    ring.run();
}

TEST_F(RingRestart, RefusesAnotherTypeThanWasCommitted) {
    Ring ring(1, [](RingMember& me) {
        me.commit(1.5);
        try {
            static_cast<void>(me.committed<int>());
        } catch (UsageError const& error) {
            require_here(std::string(error.what()).find("asked for as int") != std::string::npos,
                         error.what());
            return;
        }
        require_here(false, "no error");
    });
    ring.run();
}

TEST_F(RingRestart, KeepsLargeStates) {
    Ring ring(2,
              [](RingMember& me) {
                  constexpr std::size_t size = 4'000'000;
                  if (me.epoch() == 0) {
                      me.commit(std::vector<double>(size, me.rank()));
                      me.communicator().barrier();
                      if (me.rank() == 0) ::raise(SIGKILL);
                      me.communicator().barrier();
                  }
                  auto const state = me.committed<std::vector<double>>();
                  require_here(state && state->size() == size && state->back() == me.rank(),
                               "all of it");
              },
              {.max_restarts = 1});
    ring.run();
}

}  // namespace
}  // namespace sinew
