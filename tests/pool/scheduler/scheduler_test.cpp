// SPDX-License-Identifier: Apache-2.0
//
// Jobs, batches and results without failures.
#include "tests/pool/scheduler/scheduler_fixture.hpp"

namespace sinew::pool {
namespace {

using testing::ElementsAre;

TEST_F(SchedulerTest, WorkersAreStartedAtTheFirstJobOnly) {
    SchedulerSettings settings;
    settings.min_workers = settings.max_workers = 3;
    make(settings);
    wait(1s);
    EXPECT_TRUE(none<StartWorker>());
    submit(1, 1);
    EXPECT_EQ(all<StartWorker>().size(), 3U);
}

TEST_F(SchedulerTest, ATaskIsSentAcceptedAndEndsItsJob) {
    make(1);
    submit(7, 1);
    auto const batch = one<SendBatch>();
    EXPECT_EQ(tasks(batch), "7:0+1");
    EXPECT_EQ(batch.attempt, 1U);
    finish(batch);
    EXPECT_EQ(tasks(one<Accept>()), "7:0+1");
    EXPECT_EQ(one<JobEnded>().job, 7U);
    EXPECT_EQ(scheduler_.stats().done, 1U);
}

TEST_F(SchedulerTest, AnEmptyJobEndsAtOnce) {
    make(1);
    submit(1, 0);
    EXPECT_EQ(one<JobEnded>().job, 1U);
}

TEST_F(SchedulerTest, TheFirstBatchIsSmallAndLaterOnesAreWorthTheBatchTime) {
    make(1, 1);
    submit(1, 1'000'000);
    auto const first = one<SendBatch>();
    EXPECT_EQ(first.count, 8U);
    finish(first, 1us);
    EXPECT_EQ(one<SendBatch>().count, 500U);
}

TEST_F(SchedulerTest, ABatchHasItsLargestSize) {
    make(1, 1);
    teach(1ns);
    submit(1, 1'000'000);
    EXPECT_EQ(one<SendBatch>().count, 4096U);
}

TEST_F(SchedulerTest, TasksLongerThanTheBatchTimeAreSentOneByOne) {
    make(1, 2);
    teach(10ms);
    submit(1, 100);
    EXPECT_THAT(tasks(all<SendBatch>()), ElementsAre("1:0+1", "1:1+1"));
}

TEST_F(SchedulerTest, LongTasksComeSeveralAtATimeWhileThereAreMany) {
    make(1, 1);
    teach(1ms);
    submit(1, 5000);
    EXPECT_EQ(one<SendBatch>().count, 4U);
}

TEST_F(SchedulerTest, SmallChunksOfShortTasksComeManyAhead) {
    make(1, 2);
    teach(1us);
    JobOptions options;
    options.chunk = 1;
    submit(1, 1000, options);
    EXPECT_EQ(all<SendBatch>().size(), 16U);
}

TEST_F(SchedulerTest, BatchesShrinkTowardsTheEnd) {
    make(2, 1);
    teach(1ns);
    submit(1, 80);
    EXPECT_THAT(tasks(all<SendBatch>()), ElementsAre("1:0+10", "1:10+9"));
}

TEST_F(SchedulerTest, AFixedChunkIsKept) {
    make(1, 1);
    JobOptions options;
    options.chunk = 32;
    submit(1, 40, options);
    auto const first = one<SendBatch>();
    EXPECT_EQ(first.count, 32U);
    finish(first);
    EXPECT_EQ(one<SendBatch>().count, 8U);
}

TEST_F(SchedulerTest, ABatchStaysBelowItsBytes) {
    make(1, 1);
    JobOptions options;
    options.chunk = 1000;
    options.bytes_each = 64 << 10;
    submit(1, 1000, options);
    EXPECT_EQ(one<SendBatch>().count, 4U);
}

TEST_F(SchedulerTest, OneLongTaskDoesNotMakeBatchesSmall) {
    make(1, 1);
    teach(10us);
    submit(1, 1'000'000);
    auto const before = one<SendBatch>();
    tell(Results{before.worker, before.batch, 0, before.count, 10s, {}});
    EXPECT_GE(one<SendBatch>().count, before.count / 2);
}

TEST_F(SchedulerTest, AWorkerHasItsCreditAndNotMore) {
    make(2, 3);
    submit(1, 100'000);
    EXPECT_EQ(all<SendBatch>().size(), 6U);
}

TEST_F(SchedulerTest, ATaskDoesNotWaitForALongJobBeforeIt) {
    make(1, 1);
    submit(1, 1'000'000);
    submit(2, 1);
    for (int turn = 0; turn < 3; ++turn) finish(one<SendBatch>());
    EXPECT_EQ(one<JobEnded>().job, 2U);
}

TEST_F(SchedulerTest, AJobMayGrow) {
    make(1);
    tell(JobSubmitted{1, 1, {}, false});
    finish(one<SendBatch>());
    EXPECT_TRUE(none<JobEnded>());
    tell(JobGrows{1, 1, true});
    finish(one<SendBatch>());
    EXPECT_EQ(one<JobEnded>().job, 1U);
}

TEST_F(SchedulerTest, AThrownTaskHasFailed) {
    make(1);
    JobOptions options;
    options.stop_at_failure = false;
    options.chunk = 3;
    submit(1, 3, options);
    auto const batch = one<SendBatch>();
    tell(Results{batch.worker, batch.batch, 0, 3, 1us, {{1, false, {}}}});
    EXPECT_EQ(tasks(one<Accept>()), "1:0+3");
    auto const failure = one<Fail>();
    EXPECT_EQ(failure.index, 1U);
    EXPECT_EQ(failure.reason, Fail::Reason::thrown);
    EXPECT_EQ(scheduler_.stats().done, 2U);
    EXPECT_EQ(all<JobEnded>().size(), 1U);
}

TEST_F(SchedulerTest, AThrownTaskIsTriedAgainAfterItsPause) {
    make(1);
    submit(1, 1);
    auto const batch = one<SendBatch>();
    tell(Results{batch.worker, batch.batch, 0, 1, 1us, {{0, true, 50ms}}});
    EXPECT_TRUE(none<SendBatch>());
    EXPECT_EQ(scheduler_.due(), now_ + 50ms);
    wait(50ms);
    auto const second = one<SendBatch>();
    EXPECT_EQ(second.attempt, 2U);
    finish(second);
    EXPECT_EQ(all<JobEnded>().size(), 1U);
}

TEST_F(SchedulerTest, AFailureStopsWhatIsBehindItAndNotWhatIsBefore) {
    make(1, 2);
    JobOptions options;
    options.chunk = 10;
    submit(1, 100, options);
    auto const batches = all<SendBatch>();
    tell(Results{batches[0].worker, batches[0].batch, 0, 4, 1us, {{3, false, {}}}});
    EXPECT_THAT(tasks(all<Drop>()), ElementsAre("1:20+80"));
    EXPECT_EQ(all<Revoke>().size(), 2U);
    tell(Revoked{batches[1].worker, batches[1].batch, 0});
    EXPECT_THAT(tasks(all<Drop>()), ElementsAre("1:10+10"));
    tell(Revoked{batches[0].worker, batches[0].batch, 5});
    EXPECT_THAT(tasks(all<Drop>()), ElementsAre("1:5+5"));
    tell(Results{batches[0].worker, batches[0].batch, 4, 5, 1us, {}});
    EXPECT_EQ(all<JobEnded>().size(), 1U);
}

TEST_F(SchedulerTest, TasksBeforeTheFailedOneAreStillExecuted) {
    make(2, 1);
    JobOptions options;
    options.chunk = 2;
    submit(1, 4, options);
    auto const batches = all<SendBatch>();
    die(batches[0].worker, Cause::planned);
    tell(Results{batches[1].worker, batches[1].batch, 0, 2, 1us, {{0, false, {}}}});
    EXPECT_EQ(tasks(one<SendBatch>()), "1:0+2");
    EXPECT_TRUE(none<JobEnded>());
}

TEST_F(SchedulerTest, AnIdleWorkerGetsWhatABusyOneHasNotBegun) {
    make(2, 2);
    teach(10ms);
    submit(1, 3);
    auto const sent = all<SendBatch>();
    ASSERT_EQ(sent.size(), 3U);
    auto const& alone = sent[2].worker == sent[0].worker ? sent[1] : sent[0];
    finish(alone, 10ms);
    auto const revoke = one<Revoke>();
    EXPECT_EQ(revoke.batch, sent[2].batch);
    tell(Revoked{revoke.worker, revoke.batch, 0});
    auto const moved = one<SendBatch>();
    EXPECT_EQ(moved.worker, alone.worker);
    EXPECT_EQ(moved.first, sent[2].first);
}

TEST_F(SchedulerTest, TheTailOfALongBatchIsTakenOnceOnly) {
    make(2, 1);
    submit(1, 40);
    auto const sent = all<SendBatch>();
    ASSERT_EQ(sent.size(), 2U);
    auto const slow = sent[0];
    ASSERT_EQ(slow.count, 5U);
    for (auto next = sent; next.size() > 0; next = all<SendBatch>()) finish(next.back());
    EXPECT_EQ(one<Revoke>().batch, slow.batch);
    tell(Revoked{slow.worker, slow.batch, 1});
    for (auto next = all<SendBatch>(); next.size() > 0; next = all<SendBatch>())
        finish(next.back());
    EXPECT_TRUE(none<Revoke>());
    EXPECT_EQ(scheduler_.stats().held, 1U);
}

TEST_F(SchedulerTest, AChunkOfTheUsersIsNotCut) {
    make(2, 1);
    JobOptions options;
    options.chunk = 10;
    submit(1, 10, options);
    EXPECT_EQ(all<SendBatch>().size(), 1U);
    EXPECT_TRUE(none<Revoke>());
}

TEST_F(SchedulerTest, GivingBackABatchThatHasEndedIsNoOffence) {
    make(2, 1);
    JobOptions options;
    options.chunk = 10;
    submit(1, 10, options);
    auto const batch = one<SendBatch>();
    finish(batch);
    forget();
    tell(Revoked{batch.worker, batch.batch, 10});
    EXPECT_TRUE(actions_.empty());
}

TEST_F(SchedulerTest, ResultsCountOnceAndOfTheLivingOnly) {
    make(1, 1);
    submit(1, 20);
    auto const batch = one<SendBatch>();
    die(batch.worker, Cause::planned);
    forget();
    finish(batch);
    EXPECT_EQ(one<Fenced>().worker, batch.worker);
    EXPECT_TRUE(none<Accept>());
    EXPECT_EQ(scheduler_.stats().stale, 1U);
}

TEST_F(SchedulerTest, TheSameResultsTwiceAreFenced) {
    make(1, 1);
    submit(1, 20);
    auto const batch = one<SendBatch>();
    finish(batch);
    forget();
    finish(batch);
    EXPECT_EQ(all<Fenced>().size(), 1U);
    EXPECT_TRUE(none<Accept>());
}

TEST_F(SchedulerTest, ImpossibleMessagesEndTheirSender) {
    make(4, 1);
    JobOptions options;
    options.chunk = 4;
    submit(1, 16, options);
    auto const b = all<SendBatch>();
    ASSERT_EQ(b.size(), 4U);
    tell(Results{b[0].worker, b[0].batch, 0, 5, 1us, {}});
    tell(Results{b[1].worker, b[1].batch, 0, 2, 1us, {{2, false, {}}}});
    tell(Revoked{b[2].worker, b[2].batch, 5});
    tell(Results{b[3].worker, 12345, 0, 1, 1us, {}});
    EXPECT_EQ(all<KillWorker>().size(), 4U);
    EXPECT_EQ(all<Fenced>().size(), 4U);
    EXPECT_TRUE(none<Accept>());
}

}  // namespace
}  // namespace sinew::pool
