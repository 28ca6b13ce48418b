// SPDX-License-Identifier: Apache-2.0
//
// Deaths of workers: which tasks are blamed, which are executed again, and which are not.
#include <set>

#include "tests/pool/scheduler/scheduler_fixture.hpp"

namespace sinew::pool {
namespace {

using testing::ElementsAre;

JobOptions chunks_of(std::uint32_t chunk) {
    JobOptions options;
    options.chunk = chunk;
    options.stop_at_failure = false;
    return options;
}

TEST_F(SchedulerTest, TheRunningTaskGetsAStrikeAndTheOthersGoBackFree) {
    make(1, 2);
    submit(1, 20, chunks_of(10));
    auto const batches = all<SendBatch>();
    tell(Results{batches[0].worker, batches[0].batch, 0, 2, 1us, {}});
    die(batches[0].worker, Cause::crash, Running{batches[0].batch, 5});
    EXPECT_EQ(one<Retried>().index, 5U);
    ready(one<StartWorker>().worker);
    auto const again = all<SendBatch>();
    EXPECT_THAT(tasks(again), ElementsAre("1:5+1", "1:2+3", "1:6+10", "1:16+4"));
    EXPECT_EQ(again[0].attempt, 2U);
    EXPECT_EQ(again[1].attempt, 1U);
    EXPECT_EQ(scheduler_.stats().done, 2U);
}

TEST_F(SchedulerTest, ATaskFailsWhenItHasCostMoreWorkersThanItMay) {
    make(1, 1);
    auto options = chunks_of(1);
    options.retries = 2;
    submit(1, 1, options);
    for (std::uint32_t attempt = 1; attempt <= 3; ++attempt) {
        auto const batch = one<SendBatch>();
        EXPECT_EQ(batch.attempt, attempt);
        die(batch.worker, Cause::crash, Running{batch.batch, 0});
        if (attempt < 3) ready(one<StartWorker>().worker);
    }
    auto const failure = one<Fail>();
    EXPECT_EQ(failure.reason, Fail::Reason::crashed);
    EXPECT_EQ(failure.attempts, 3U);
    EXPECT_EQ(failure.why, "killed by signal 9");
}

TEST_F(SchedulerTest, MemoryIsCountedByItself) {
    make(1, 1);
    auto options = chunks_of(1);
    options.retries = 1;
    submit(1, 1, options);
    for (auto const cause : {Cause::crash, Cause::memory}) {
        auto const batch = one<SendBatch>();
        die(batch.worker, cause, Running{batch.batch, 0});
        ready(one<StartWorker>().worker);
    }
    EXPECT_TRUE(none<Fail>());
    auto const batch = one<SendBatch>();
    die(batch.worker, Cause::memory, Running{batch.batch, 0});
    EXPECT_EQ(one<Fail>().reason, Fail::Reason::memory);
}

TEST_F(SchedulerTest, ATaskOverItsTimeFailsAtOnce) {
    make(1, 1);
    submit(1, 3, chunks_of(3));
    auto const batch = one<SendBatch>();
    die(batch.worker, Cause::timeout, Running{batch.batch, 1});
    auto const failure = one<Fail>();
    EXPECT_EQ(failure.reason, Fail::Reason::timeout);
    EXPECT_EQ(failure.index, 1U);
    ready(one<StartWorker>().worker);
    EXPECT_EQ(tasks(one<SendBatch>()), "1:0+1");
}

TEST_F(SchedulerTest, APlannedDeathIsNobodysFault) {
    make(1, 1);
    auto options = chunks_of(1);
    options.retries = 0;
    submit(1, 1, options);
    for (int i = 0; i < 5; ++i) {
        auto const batch = one<SendBatch>();
        die(batch.worker, Cause::planned, Running{batch.batch, 0});
        ready(one<StartWorker>().worker);
    }
    EXPECT_TRUE(none<Fail>());
    finish(one<SendBatch>());
    EXPECT_EQ(all<JobEnded>().size(), 1U);
}

TEST_F(SchedulerTest, ALostHostMakesSuspectsThatRunOneByOne) {
    make(1, 2);
    auto options = chunks_of(2);
    options.retries = 0;
    submit(1, 2, options);
    vanish(one<SendBatch>().worker);
    EXPECT_TRUE(none<Fail>());
    ready(one<StartWorker>().worker);
    auto const first = one<SendBatch>();  // although two batches are allowed
    EXPECT_EQ(tasks(first), "1:0+1");
    finish(first);
    auto const second = one<SendBatch>();
    EXPECT_EQ(tasks(second), "1:1+1");
    vanish(second.worker);
    auto const failure = one<Fail>();
    EXPECT_EQ(failure.index, 1U);
    EXPECT_EQ(failure.reason, Fail::Reason::crashed);
}

TEST_F(SchedulerTest, AtMostOnceIsNotRunAgainIfItMayHaveBegun) {
    make(1, 2);
    auto options = chunks_of(4);
    options.at_most_once = true;
    submit(1, 8, options);
    auto const batches = all<SendBatch>();
    tell(Results{batches[0].worker, batches[0].batch, 0, 1, 1us, {}});
    die(batches[0].worker, Cause::crash, Running{batches[0].batch, 2});
    std::vector<std::uint64_t> failed;
    for (auto const& failure : all<Fail>()) {
        EXPECT_EQ(failure.reason, Fail::Reason::maybe_executed);
        failed.push_back(failure.index);
    }
    EXPECT_THAT(failed, ElementsAre(1, 2));  // executed but not reported; running
    ready(one<StartWorker>().worker);
    EXPECT_EQ(tasks(all<SendBatch>().front()), "1:3+4");
}

TEST_F(SchedulerTest, AtMostOnceOnALostHostMayAllHaveBegun) {
    make(1, 1);
    auto options = chunks_of(4);
    options.at_most_once = true;
    submit(1, 4, options);
    vanish(one<SendBatch>().worker);
    EXPECT_EQ(all<Fail>().size(), 4U);
    EXPECT_EQ(all<JobEnded>().size(), 1U);
}

TEST_F(SchedulerTest, ASuspectGetsNoWorkUntilItIsHeardOfAgain) {
    make(1, 1);
    tell(WorkerSuspect{workers_[0]});
    submit(1, 1);
    EXPECT_TRUE(none<SendBatch>());
    tell(WorkerAlive{workers_[0]});
    EXPECT_EQ(all<SendBatch>().size(), 1U);
}

// G5 (Fiber): workers of a slot are never confused, however many there were.
TEST_F(SchedulerTest, NoTwoWorkersEverHaveOneId) {
    constexpr std::uint32_t count = 500;
    make(count);
    std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
    auto const note = [&](WorkerId id) {
        EXPECT_LT(id.slot, count);
        EXPECT_TRUE(seen.emplace(id.slot, id.epoch).second) << id.slot << "/" << id.epoch;
    };
    for (auto const id : workers_) note(id);
    for (int round = 0; round < 3; ++round) {
        for (auto const id : std::exchange(workers_, {})) {
            die(id, Cause::planned);
            auto const next = one<StartWorker>().worker;
            note(next);
            ready(next);
        }
    }
    EXPECT_EQ(seen.size(), 4 * count);
}

TEST_F(SchedulerTest, ADeadWorkerIsReplacedAtOnceUnderAnotherEpoch) {
    make(2);
    die(workers_[0], Cause::crash);
    auto const start = one<StartWorker>();
    EXPECT_EQ(start.worker.slot, workers_[0].slot);
    EXPECT_NE(start.worker.epoch, workers_[0].epoch);
}

// G11, G19 (Fiber)
TEST_F(SchedulerTest, StartsThatFailArePausedAndThenBreakThePool) {
    SchedulerSettings settings;
    make(settings);
    submit(1, 5);
    tell(StartFailed{one<StartWorker>().worker, "no"});
    EXPECT_TRUE(none<StartWorker>());
    wait(100ms);
    tell(StartFailed{one<StartWorker>().worker, "no"});
    wait(100ms);
    EXPECT_TRUE(none<StartWorker>());
    wait(100ms);
    tell(StartFailed{one<StartWorker>().worker, "out of luck"});
    EXPECT_THAT(one<Broken>().why, testing::HasSubstr("out of luck"));
    EXPECT_THAT(tasks(all<Drop>()), ElementsAre("1:0+5"));
    submit(2, 3);
    EXPECT_THAT(tasks(all<Drop>()), ElementsAre("2:0+3"));
    tell(Close{});
    EXPECT_EQ(all<Ended>().size(), 1U);
}

TEST_F(SchedulerTest, AStartThatTakesTooLongIsKilledAndCounts) {
    SchedulerSettings settings;
    settings.failing_starts = 1;
    make(settings);
    tell(Begin{});
    auto const start = one<StartWorker>();
    wait(30s);
    EXPECT_EQ(one<KillWorker>().worker, start.worker);
    EXPECT_EQ(all<Broken>().size(), 1U);
}

TEST_F(SchedulerTest, DeathsThatBlameNobodyBreakThePool) {
    make(1);
    for (int i = 0; i < 3; ++i) {
        die(workers_.back(), Cause::crash);
        ready(one<StartWorker>().worker);
    }
    EXPECT_TRUE(none<Broken>());
    die(workers_.back(), Cause::crash);
    EXPECT_EQ(all<Broken>().size(), 1U);
}

TEST_F(SchedulerTest, RareDeathsDoNotBreakThePool) {
    make(1);
    for (int i = 0; i < 10; ++i) {
        wait(21s);
        die(workers_.back(), Cause::crash);
        ready(one<StartWorker>().worker);
    }
    EXPECT_TRUE(none<Broken>());
}

}  // namespace
}  // namespace sinew::pool
