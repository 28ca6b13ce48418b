// SPDX-License-Identifier: Apache-2.0
// Rings whose member 0 is the caller, as in Fiber.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <sinew/ring.hpp>
#include <stdexcept>

#include "tests/support/leak_check.hpp"

namespace sinew {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

int inits = 0;
double total = 0;
std::string master;

class RingCaller : public testing::Test {
protected:
    void SetUp() override {
        inits = 0;
        total = 0;
    }
    testing_support::LeakCheck leaks;
};

TEST_F(RingCaller, IsMemberZero) {
    ::setenv("RANK", "before", 1);
    Ring ring(
        3, [](RingMember&, int step) { inits += step; },
        [](RingMember& me) {
            total = me.communicator().allreduce_value(me.rank() + 1.0, sum);
            master = std::getenv("MASTER_PORT");
            if (me.rank() == 0 && std::string(std::getenv("RANK")) != "0")
                throw std::logic_error("RANK");
            if (std::to_string(me.members()[0].port) != master) throw std::logic_error("port");
        },
        {.member_zero_is_caller = true}, 2);
    auto const statuses = ring.run();
    EXPECT_EQ(statuses.at(0).pid, ::getpid());
    EXPECT_NE(statuses.at(1).pid, ::getpid());
    EXPECT_EQ(statuses.at(0).end, "returned");
    EXPECT_EQ(total, 6);
    EXPECT_EQ(inits, 2);
    EXPECT_STREQ(std::getenv("RANK"), "before");
    EXPECT_EQ(std::getenv("MASTER_PORT"), nullptr);
    ::unsetenv("RANK");
}

TEST_F(RingCaller, CanBeAlone) {
    Ring(1, [](RingMember& me) { total = me.communicator().allreduce_value(3.0, sum); },
         {.member_zero_is_caller = true})
        .run();
    EXPECT_EQ(total, 3);
}

TEST_F(RingCaller, HearsOfADeath) {
    Ring ring(3,
              [](RingMember& me) {
                  if (me.rank() == 1) ::raise(SIGKILL);
                  for (;;) me.communicator().allreduce_value(1.0, sum);
              },
              {.member_zero_is_caller = true});
    try {
        ring.run();
        FAIL() << "nobody told";
    } catch (RingFailed const& error) {
        EXPECT_EQ(error.rank(), 1);
        EXPECT_THAT(error.what(), HasSubstr("killed by signal 9"));
        EXPECT_THAT(error.statuses().at(0).end, HasSubstr("threw sinew::PeerLost"));
    }
}

TEST_F(RingCaller, TellsTheOthersOfItsException) {
    Ring ring(2,
              [](RingMember& me) {
                  if (me.rank() == 0) throw std::out_of_range("mine");
                  for (;;) me.communicator().allreduce_value(1.0, sum);
              },
              {.member_zero_is_caller = true});
    try {
        ring.run();
        FAIL() << "nobody told";
    } catch (RingFailed const& error) {
        EXPECT_EQ(error.rank(), 0);
        EXPECT_EQ(error.pid(), ::getpid());
        EXPECT_THROW(std::rethrow_exception(error.cause()), std::out_of_range);
        EXPECT_THAT(error.statuses().at(1).end,
                    AnyOf(HasSubstr("mine"), HasSubstr("ended by the ring")));
    }
}

TEST_F(RingCaller, CommitsAndStartsAgain) {
    Ring ring(2,
              [](RingMember& me) {
                  int step = me.committed<int>().value_or(0);
                  for (; step < 4; me.commit(++step)) {
                      if (me.rank() == 1 && me.epoch() == 0 && step == 2) ::raise(SIGKILL);
                      me.communicator().allreduce_value(1.0, sum);
                  }
                  if (me.rank() == 0) total = step + 10 * me.epoch();
              },
              {.member_zero_is_caller = true, .max_restarts = 1});
    ring.run();
    EXPECT_EQ(total, 14);
    EXPECT_EQ(ring.restarts(), 1);
}

// A commit that waits for a member that dies.
TEST_F(RingCaller, IsNotLeftWaitingInACommit) {
    Ring ring(2,
              [](RingMember& me) {
                  if (me.rank() == 1) ::raise(SIGKILL);
                  me.commit(1);
              },
              {.member_zero_is_caller = true});
    EXPECT_THROW(ring.run(), RingFailed);
}

}  // namespace
}  // namespace sinew
