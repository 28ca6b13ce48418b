// SPDX-License-Identifier: Apache-2.0
//
// The number of workers, and how they are replaced.
#include "tests/pool/scheduler/scheduler_fixture.hpp"

namespace sinew::pool {
namespace {

class SchedulerScaling : public SchedulerTest {
protected:
    void make_elastic(std::uint32_t least, std::uint32_t most) {
        SchedulerSettings settings;
        settings.min_workers = least;
        settings.max_workers = most;
        make(settings);
        tell(Begin{});
        ready_all();
    }
    std::size_t ready_all() {
        auto const starts = all<StartWorker>();
        for (auto const& start : starts) ready(start.worker);
        return starts.size();
    }
};

TEST_F(SchedulerScaling, AWornWorkerWorksUntilItsSuccessorIsThere) {
    make(2, 1);
    tell(WorkerRecycled{workers_[0]});
    auto const successor = one<StartWorker>();
    submit(1, 1000);
    EXPECT_EQ(all<SendBatch>().size(), 2U);
    EXPECT_TRUE(none<ReleaseWorker>());
    tell(WorkerReady{successor.worker});
    EXPECT_TRUE(none<ReleaseWorker>());  // it finishes its tasks
    EXPECT_EQ(scheduler_.stats().ready, 3U);
}

TEST_F(SchedulerScaling, AWornWorkerThatIsIdleLeavesAsSoonAsItsSuccessorIsThere) {
    make(2, 1);
    tell(WorkerRecycled{workers_[0]});
    tell(WorkerReady{one<StartWorker>().worker});
    EXPECT_EQ(one<ReleaseWorker>().worker, workers_[0]);
    die(workers_[0], Cause::planned);
    EXPECT_TRUE(none<StartWorker>());
}

TEST_F(SchedulerScaling, TheWornAreReplacedOneAtATime) {
    make(3, 1);
    for (auto const worker : workers_) tell(WorkerRecycled{worker});
    auto const first = one<StartWorker>();
    tell(WorkerReady{first.worker});
    EXPECT_EQ(one<ReleaseWorker>().worker, workers_[0]);
    EXPECT_TRUE(none<StartWorker>());
    die(workers_[0], Cause::planned);
    EXPECT_EQ(all<StartWorker>().size(), 1U);
}

TEST_F(SchedulerScaling, NoWorkerGetsMoreTasksThanItMay) {
    SchedulerSettings settings;
    settings.max_tasks_per_worker = 10;
    make(1, 1, settings);
    submit(1, 100);
    auto const first = one<SendBatch>();
    EXPECT_EQ(first.count, 8U);
    finish(first);
    auto const second = one<SendBatch>();
    EXPECT_EQ(second.count, 2U);
    EXPECT_EQ(all<StartWorker>().size(), 1U);  // before it has ended
    finish(second);
    EXPECT_EQ(one<ReleaseWorker>().worker, first.worker);
}

TEST_F(SchedulerScaling, WorkIsWorthWorkers) {
    make_elastic(1, 8);
    teach(500ms);
    submit(1, 6);  // three seconds of work; one worker per second of work
    EXPECT_EQ(ready_all(), 2U);
}

// G14 (Fiber)
TEST_F(SchedulerScaling, NeverMoreThanTheMost) {
    make_elastic(0, 4);
    submit(1, 1000);
    EXPECT_EQ(all<StartWorker>().size(), 4U);
}

TEST_F(SchedulerScaling, TheIdleLeaveAfterAWhileAndNotBefore) {
    make_elastic(1, 3);
    JobOptions options;
    options.chunk = 1;
    submit(1, 6, options);
    ready_all();
    auto const sent = all<SendBatch>();
    now_ += 40s;
    for (auto const& batch : sent) finish(batch);
    wait(29s);
    EXPECT_TRUE(none<ReleaseWorker>());
    wait(1s);
    EXPECT_EQ(all<ReleaseWorker>().size(), 2U);
    wait(300s);
    EXPECT_TRUE(none<ReleaseWorker>());
}

TEST_F(SchedulerScaling, AResizeTakesTheIdleFirst) {
    make(3, 1);
    submit(1, 1);
    auto const busy = one<SendBatch>().worker;
    tell(Resize{1, 1});
    auto const released = all<ReleaseWorker>();
    ASSERT_EQ(released.size(), 2U);
    for (auto const& one : released) EXPECT_FALSE(one.worker == busy);
    tell(Resize{4, 4});
    EXPECT_EQ(all<StartWorker>().size(), 2U);  // workers that are ending still take up room
    for (auto const& one : released) die(one.worker, Cause::planned);
    EXPECT_EQ(all<StartWorker>().size(), 1U);
}

// Regression: the timer was set again for the same instant, for ever.
TEST_F(SchedulerScaling, AnIdleGraceOfZeroEndsWhatIsNotNeededAtOnceAndKeepsTheRest) {
    SchedulerSettings settings;
    settings.min_workers = 1;
    settings.max_workers = 2;
    settings.idle_grace = 0s;
    make(settings);
    tell(Begin{});
    ready_all();
    wait(0s);
    EXPECT_TRUE(none<ReleaseWorker>());
    EXPECT_GT(scheduler_.due(), now_);
    submit(1, 2, {.chunk = 1});
    ready_all();
    for (auto const& batch : all<SendBatch>()) finish(batch);
    wait(10ms);
    EXPECT_EQ(all<ReleaseWorker>().size(), 1U);
}

}  // namespace
}  // namespace sinew::pool
