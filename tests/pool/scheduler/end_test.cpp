// SPDX-License-Identifier: Apache-2.0
//
// The end of jobs and pools, early or regular.
#include "tests/pool/scheduler/scheduler_fixture.hpp"

namespace sinew::pool {
namespace {

using testing::ElementsAre;

TEST_F(SchedulerTest, ACancelledJobIsDroppedRevokedAskedAndThenKilled) {
    make(1, 2);
    JobOptions options;
    options.chunk = 2;
    submit(1, 10, options);
    auto const batches = all<SendBatch>();
    tell(JobCancelled{1});
    EXPECT_THAT(tasks(all<Drop>()), ElementsAre("1:4+6"));
    EXPECT_EQ(all<Revoke>().size(), 2U);
    EXPECT_EQ(all<AskToStop>().size(), 2U);
    tell(Revoked{batches[0].worker, batches[0].batch, 1});
    tell(Revoked{batches[1].worker, batches[1].batch, 0});
    forget();
    wait(2s);
    EXPECT_EQ(one<KillWorker>().worker, batches[0].worker);
    die(batches[0].worker, Cause::planned, Running{batches[0].batch, 0});
    EXPECT_THAT(tasks(all<Drop>()), ElementsAre("1:0+1"));
    EXPECT_EQ(all<JobEnded>().size(), 1U);
}

TEST_F(SchedulerTest, CloseFinishesWhatThereIs) {
    make(1, 1);
    submit(1, 1);
    tell(Close{});
    EXPECT_TRUE(none<ReleaseWorker>());
    finish(one<SendBatch>());
    auto const released = one<ReleaseWorker>();
    EXPECT_TRUE(none<Ended>());
    die(released.worker, Cause::planned);
    EXPECT_EQ(all<Ended>().size(), 1U);
    EXPECT_TRUE(none<StartWorker>());
}

TEST_F(SchedulerTest, TerminateDropsEverything) {
    make(2, 1);
    submit(1, 100);
    auto const held = scheduler_.stats().held;
    tell(Terminate{});
    std::uint64_t dropped = 0;
    for (auto const& drop : all<Drop>()) dropped += drop.count;
    EXPECT_GT(held, 0U);
    EXPECT_EQ(dropped, 100U);
    EXPECT_EQ(all<KillWorker>().size(), 2U);
    EXPECT_EQ(all<JobEnded>().size(), 1U);
    for (auto const worker : workers_) die(worker, Cause::planned);
    EXPECT_EQ(all<Ended>().size(), 1U);
}

TEST_F(SchedulerTest, WhatIsGivenBackUnaskedIsSentAgain) {
    make(1, 1);
    JobOptions options;
    options.chunk = 10;
    options.stop_at_failure = false;
    submit(1, 10, options);
    auto const batch = one<SendBatch>();
    tell(Revoked{batch.worker, batch.batch, 4});
    EXPECT_TRUE(none<SendBatch>()) << "it is at its first four";
    tell(Revoked{batch.worker, batch.batch, 4});
    tell(Results{batch.worker, batch.batch, 0, 4, 1us, {{3, false, {}}}});
    EXPECT_EQ(tasks(one<SendBatch>()), "1:4+6");
    EXPECT_TRUE(none<KillWorker>());
}

// If both cross, the tasks that were given back are the answer.
TEST_F(SchedulerTest, GivingBackUnaskedMayCrossTheQuestion) {
    make(2, 2);
    teach(10ms);
    submit(1, 3);
    auto const sent = all<SendBatch>();
    auto const& alone = sent[2].worker == sent[0].worker ? sent[1] : sent[0];
    finish(alone, 10ms);
    auto const revoke = one<Revoke>();
    tell(Revoked{revoke.worker, revoke.batch, 1});
    tell(Revoked{revoke.worker, revoke.batch, 1});
    EXPECT_TRUE(none<KillWorker>());
    EXPECT_EQ(scheduler_.stats().held, 2U);
}

// Regression: the timer was set again for the same instant, for ever.
TEST_F(SchedulerTest, ACancelGraceOfZeroKillsAtOnce) {
    SchedulerSettings settings;
    settings.cancel_grace = 0s;
    make(1, 1, settings);
    submit(1, 10);
    auto const batch = one<SendBatch>();
    tell(JobCancelled{1});
    wait(0s);
    EXPECT_EQ(one<KillWorker>().worker, batch.worker);
    EXPECT_GT(scheduler_.due(), now_);
    die(batch.worker, Cause::planned);
    EXPECT_EQ(all<JobEnded>().size(), 1U);
}

}  // namespace
}  // namespace sinew::pool
