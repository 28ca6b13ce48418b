// SPDX-License-Identifier: Apache-2.0
//
// Tasks that throw, are cancelled or retried; how a pool starts, is resized and ends. Tests name
// the defects of Fiber that they concern (G1 ...).
#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <iterator>
#include <map>
#include <numeric>
#include <ranges>
#include <set>
#include <sinew/pool.hpp>
#include <sinew/this_task.hpp>

#include "src/base/text.hpp"
#include "tests/pool/pool_fixture.hpp"
#include "tests/pool/tasks.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

using PoolErrors = PoolTest;
using PoolLife = PoolTest;

// G4
TEST_F(PoolErrors, ExceptionsComeBackAsTheyWere) {
    Pool pool(2, quiet());
    try {
        pool.apply<picky>(13);
        FAIL();
    } catch (std::out_of_range const& error) {
        EXPECT_STREQ(error.what(), "thirteen");
        auto const* remote = dynamic_cast<RemoteException const*>(&error);
        ASSERT_NE(remote, nullptr);
        EXPECT_EQ(remote->record().attempt, 1U);
        EXPECT_THAT(remote->record().function, HasSubstr("picky"));
        EXPECT_NE(remote->record().pid, ::getpid());
    }
    EXPECT_THROW(pool.apply<picky>(14), TaskError);
    try {
        pool.apply<picky>(15);
        FAIL();
    } catch (std::runtime_error const& error) {
        auto const* remote = dynamic_cast<RemoteException const*>(&error);
        ASSERT_NE(remote, nullptr);
        ASSERT_EQ(remote->record().causes.size(), 1U);
        EXPECT_EQ(remote->record().causes[0].what, "the inner one");
    }
    EXPECT_EQ(pool.apply<picky>(1), 1) << "the worker lives on";
    EXPECT_EQ(pool.stats().deaths, 0U);
}

TEST_F(PoolErrors, MapThrowsTheLowestThatFails) {
    Pool pool(4, quiet());
    for (int round = 0; round < 20; ++round) {
        try {
            pool.with({.chunk = 1})
                .map(
                    [](int x) {
                        if (x == 20 || x == 40 || x == 41)
                            throw std::runtime_error(std::to_string(x));
                        return x;
                    },
                    sinew::range(0, 60));
            FAIL();
        } catch (std::runtime_error const& error) {
            EXPECT_STREQ(error.what(), "20");
        }
    }
}

TEST_F(PoolErrors, SettledGivesEveryOutcome) {
    Pool pool(3, quiet());
    auto const outcomes = pool.map_settled<picky>(sinew::range(10, 18));
    ASSERT_EQ(outcomes.size(), 8U);
    for (int i = 0; i < 8; ++i) EXPECT_EQ(outcomes[i].has_value(), i < 3 || i > 5) << i;
    EXPECT_EQ(*outcomes[7], 17);
    EXPECT_THROW(outcomes[3].value(), std::out_of_range);
}

TEST_F(PoolErrors, ImapYieldsTheErrorInItsPlace) {
    Pool pool(3, quiet());
    std::vector<int> seen;
    auto stream = pool.imap<picky>(sinew::range(11, 17));
    for (auto at = stream.begin(); at != stream.end(); ++at) {
        try {
            seen.push_back(*at);
        } catch (std::exception const&) {
            seen.push_back(-1);
        }
    }
    EXPECT_THAT(seen, ElementsAre(11, 12, -1, -1, -1, 16));
}

TEST_F(PoolErrors, RetryOnRunsAgainWhatThrew) {
    Ledger const ledger("retry");
    Pool pool(2, quiet());
    auto const flaky = [](std::string const& path, int task) {
        note(path, task);
        if (this_task::attempt() < 3) throw std::runtime_error("not yet");
        return int(this_task::attempt());
    };
    auto const patient = pool.with({.retry_on = retry_on<std::runtime_error>(3, 1ms)});
    EXPECT_EQ(patient.apply(flaky, ledger.path(), 0), 3);
    EXPECT_THROW(
        pool.with({.retry_on = retry_on<std::runtime_error>(1)}).apply(flaky, ledger.path(), 1),
        std::runtime_error);
    EXPECT_THROW(
        pool.with({.retry_on = retry_on<std::bad_alloc>(5)}).apply(flaky, ledger.path(), 2),
        std::runtime_error);
    EXPECT_THAT(ledger.counts(3), ElementsAre(3, 2, 1));
}

TEST_F(PoolErrors, ATimeoutCancelsNothing) {
    Pool pool(1, quiet());
    auto handle = pool.apply_async<who>(500);
    EXPECT_THROW(handle.get(1ms), Timeout);
    EXPECT_FALSE(handle.ready());
    EXPECT_GT(handle.get(), 0);
}

TEST_F(PoolErrors, CancelDropsWhatHasNotBegun) {
    Ledger const ledger("cancel");
    Pool pool(1, quiet());
    pool.wait_until_workers_up();
    auto running = pool.apply_async(
        [](std::string const& path) {
            note(path, 0);
            while (!this_task::stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
        },
        ledger.path());
    auto queued = pool.apply_async([](std::string const& path) { note(path, 1); }, ledger.path());
    while (ledger.counts(2)[0] == 0) std::this_thread::sleep_for(1ms);
    queued.cancel();
    EXPECT_THROW(queued.get(), Cancelled);
    running.cancel();
    EXPECT_THROW(running.get(), Cancelled) << "it has ended by itself, but was cancelled before";
    EXPECT_THAT(ledger.counts(2), ElementsAre(1, 0));
    EXPECT_EQ(pool.apply<square>(2), 4);
}

TEST_F(PoolErrors, WhatIsCancelledFailsSoWhateverItThrows) {
    Pool pool(1, quiet());
    pool.wait_until_workers_up();
    auto handle = pool.apply_async([] {
        while (!this_task::stop_token().stop_requested()) std::this_thread::sleep_for(1ms);
        throw std::runtime_error("stopped");
    });
    std::this_thread::sleep_for(50ms);
    handle.cancel();
    EXPECT_THROW(handle.get(), Cancelled);
}

TEST_F(PoolErrors, CancelEndsWhatDoesNotStop) {
    auto options = quiet();
    options.cancel_grace = 100ms;
    Pool pool(1, options);
    auto handle = pool.apply_async<who>(100'000);
    std::this_thread::sleep_for(50ms);
    handle.cancel();
    EXPECT_THROW(handle.get(), Cancelled);
    EXPECT_EQ(pool.apply<square>(2), 4) << "another worker takes its place";
}

TEST_F(PoolLife, ClosedPoolsTakeNoTasks) {
    Pool pool(2, quiet());
    auto handle = pool.map_async<square>(sinew::range(0, 1000));
    pool.close();
    EXPECT_THROW(pool.apply<square>(1), UsageError);
    pool.join();
    EXPECT_EQ(handle.get().size(), 1000U);
}

TEST_F(PoolLife, TerminateEndsAll) {
    Pool pool(2, quiet());
    auto handle = pool.map_async<who>(std::vector(100, 10'000));
    pool.wait_until_workers_up();
    pool.terminate();
    pool.join();
    EXPECT_THROW(handle.get(), Cancelled);
}

TEST_F(PoolLife, WorkersStartWithTheFirstTask) {
    Pool pool(2, quiet());
    EXPECT_EQ(pool.stats().started, 0U);
    pool.apply<square>(1);
    EXPECT_EQ(pool.stats().workers, 2);
}

TEST_F(PoolLife, ResizeGrowsAndShrinks) {
    Pool pool(1, quiet());
    pool.apply<square>(1);
    pool.resize(3);
    ASSERT_TRUE(pool.wait_until_workers_up(30s));
    EXPECT_EQ(pool.stats().ready, 3);
    pool.resize(1);
    for (int i = 0; i < 1000 && pool.stats().workers != 1; ++i) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(pool.stats().workers, 1);
    EXPECT_EQ(pool.apply<square>(3), 9);
}

TEST_F(PoolLife, WorkersAreReplacedAfterSoManyTasks) {
    auto options = quiet();
    options.max_tasks_per_worker = 10;
    Pool pool(2, options);
    auto const pids = pool.with({.chunk = 1}).map<who>(std::vector(100, 0));
    std::map<pid_t, int> counts;
    for (auto const pid : pids) ++counts[pid];
    for (auto const& [pid, count] : counts) EXPECT_LE(count, 10) << pid;
    EXPECT_GE(counts.size(), 10U);
}

int prepared = 0;
void prepare(int value) { prepared = value; }

TEST_F(PoolLife, InitializersRunBeforeTheFirstTask) {
    auto options = quiet();
    options.initializer = initializer<prepare>(42);
    Pool pool(2, options);
    EXPECT_THAT(pool.map([](int) { return prepared; }, sinew::range(0, 20)), Each(42));
}

// G11
TEST_F(PoolLife, FailingInitializersBreakThePool) {
    auto options = quiet();
    options.initializer = initializer<picky>(13);
    Pool pool(2, options);
    try {
        pool.apply<square>(1);
        FAIL();
    } catch (PoolBroken const& broken) {
        EXPECT_THAT(broken.what(), HasSubstr("thirteen"));
    }
    EXPECT_THROW(pool.apply<square>(1), PoolBroken);
    EXPECT_THROW(pool.wait_until_workers_up(), PoolBroken);
}

// Must be refused before the first hundreds have been started.
TEST_F(PoolLife, MoreWorkersThanTheSystemLetsUsHaveAreRefused) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit few = before;
    few.rlim_cur = 400;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    EXPECT_THAT([] { Pool(1000, quiet()); },
                testing::ThrowsMessage<UsageError>(
                    AllOf(HasSubstr("a pool of 1000 workers"), HasSubstr("ulimit -n"))));
    EXPECT_NO_THROW(Pool(Workers(1, 1000), quiet()));
    ::setrlimit(RLIMIT_NOFILE, &before);
}

// G20 (Fiber): invalid options are not ignored.
TEST_F(PoolLife, NonsenseIsRefused) {
    for (auto const& workers : {Workers(0), Workers(-1), Workers(3, 2), Workers(1, 2'000'000'000)})
        EXPECT_THROW(Pool(workers, quiet()), UsageError) << workers.min << ", " << workers.max;
    for (auto const spoil : std::initializer_list<void (*)(PoolOptions&)>{
             [](PoolOptions& options) { options.workers = Workers(0); },
             [](PoolOptions& options) { options.failing_starts = 0; },
             [](PoolOptions& options) { options.prefetch = -1; },
             [](PoolOptions& options) { options.idle_grace = -1s; },
             [](PoolOptions& options) { options.cancel_grace = -1s; },
             [](PoolOptions& options) { options.events = "/nowhere/events"; }}) {
        auto options = quiet();
        spoil(options);
        EXPECT_THROW(Pool{options}, Error);
    }
    Pool pool(1, quiet());
    for (TaskOptions const& options : std::initializer_list<TaskOptions>{
             {.retries = -1},
             {.chunk = -1},
             {.soft_limit = -1s},
             {.hard_limit = -1s},
             {.soft_limit = 2s, .hard_limit = 1s},
             {.retry_on = retry_on<std::runtime_error>(-1)},
             {.retry_on = retry_on<std::runtime_error>(1, -1s)},
             {.retry_on = retry_on<std::runtime_error>(1, std::chrono::hours(25))},
             {.at_most_once = true, .retry_on = retry_on<std::runtime_error>(1)}})
        EXPECT_THROW(pool.with(options).apply<square>(1), UsageError);
    EXPECT_THROW(pool.resize(0), UsageError);
    EXPECT_THROW(pool.resize(Workers(1, 2'000'000'000)), UsageError);
    EXPECT_THROW(pool.join(), UsageError);
    EXPECT_EQ(pool.apply<square>(2), 4);
}

TEST_F(PoolLife, EventsAreWritten) {
    Ledger const file("events");
    auto options = quiet();
    options.events = file.path();
    { Pool(2, options).map<square>(sinew::range(0, 10)); }
    auto const words = read_whole(file.path());
    for (auto const* event :
         {"worker_started", "worker_ready", "job_ended", "worker_ended", "ended"})
        EXPECT_THAT(words, HasSubstr(text("\"event\":\"", event, "\""))) << event;
}

}  // namespace
}  // namespace sinew::testing_support
