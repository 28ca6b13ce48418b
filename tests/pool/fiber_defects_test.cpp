// SPDX-License-Identifier: Apache-2.0
//
// Defects of Fiber's pools that sinew must not have. Each test names its defect (G1 ...);
// docs/internals/pool.md lists where the others are tested.
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sinew/pool.hpp>
#include <sinew/process.hpp>
#include <sstream>
#include <string_view>
#include <thread>

#include "src/base/text.hpp"
#include "tests/pool/pool_fixture.hpp"
#include "tests/pool/tasks.hpp"

namespace sinew::testing_support {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;

using FiberDefects = PoolTest;

constexpr auto early_variable = "SINEW_TEST_EARLY_DEATH";

// A worker that fails before main(), as with a missing library; recorded in a ledger.
[[maybe_unused]] bool const early = [] {
    char const* const ledger = std::getenv(early_variable);
    if (ledger == nullptr || std::getenv("SINEW_CHILD") == nullptr) return false;
    note(ledger, 0);
    std::fprintf(stderr, "early words\n");
    std::abort();
}();

// G12 (Fiber): results are received by a thread of sinew, whether or not they are asked for.
TEST_F(FiberDefects, ResultsArriveWithoutAnybodyAsking) {
    Pool pool(2, quiet());
    auto const handle = pool.map_async<square>(sinew::range(0, 1000));
    EXPECT_TRUE(eventually([&] { return handle.ready(); }));
    EXPECT_EQ(pool.stats().done, 1000U);
}

// G12 (Fiber)
TEST_F(FiberDefects, ResultsThatNobodyWantsTakeNoMemory) {
    Pool pool(2, quiet());
    constexpr std::uint64_t numbers = std::uint64_t{1} << 17;  // 1 MiB
    pool.map<blow_up>(std::vector<std::uint64_t>(8, numbers));
    auto const before = resident_size(::getpid());
    constexpr std::uint64_t dropped = 200;
    for (std::uint64_t i = 0; i < dropped; ++i) pool.apply_async<blow_up>(numbers);
    EXPECT_TRUE(eventually([&] { return pool.stats().done == 8 + dropped; }, Seconds(60)));
    EXPECT_LT(resident_size(::getpid()), before + (std::size_t{100} << 20));
}

// G12 (Fiber)
TEST_F(FiberDefects, ManyThreadsMayUseOneHandle) {
    Pool pool(2, quiet());
    auto const handle = pool.map_async<who>(std::vector(20, 5));
    std::vector<std::vector<pid_t>> seen(8);
    std::vector<std::thread> threads;
    for (auto& own : seen)
        threads.emplace_back([&own, &handle, copy = handle] {
            copy.wait_for(1ms);
            own = handle.get();
        });
    for (auto& thread : threads) thread.join();
    EXPECT_THAT(seen, Each(handle.get()));
}

// G13, G19 (Fiber): a start that fails is retried a few times, with pauses (tested by
// scheduler/fault_test.cpp), and then thrown with the worker's output; not just logged, and not
// repeated forever.
TEST_F(FiberDefects, StartsThatFailAreThrownWithTheirLog) {
    Ledger const ledger("early");
    ::setenv(early_variable, ledger.path().c_str(), 1);
    {
        Pool pool(2, quiet());
        try {
            pool.apply<square>(1);
            ADD_FAILURE() << "it has workers";
        } catch (PoolBroken const& broken) {
            EXPECT_THAT(broken.what(), HasSubstr("early words"));
            EXPECT_THAT(broken.what(), HasSubstr("signal 6"));
        }
    }
    ::unsetenv(early_variable);
    auto const starts = ledger.counts(1)[0];
    EXPECT_GE(starts, quiet().failing_starts);
    EXPECT_LE(starts, quiet().failing_starts + 2) << "each of the two workers may be at one";
}

// G14 (Fiber): a slot of the pool has one worker at a time, whatever happens to it.
TEST_F(FiberDefects, CrashesDoNotLetThePoolGrow) {
    Pool pool(3, sturdy());
    ASSERT_TRUE(pool.wait_until_workers_up(30s));
    std::atomic<bool> over = false;
    std::size_t most = 0;
    std::jthread watcher([&] {
        while (!over) {
            most = std::max(most, active_children().size());
            std::this_thread::sleep_for(1ms);
        }
    });
    auto const outcomes = pool.with({.retries = 1, .chunk = 1})
                              .map_settled(
                                  [](int x) {
                                      if (x % 10 == 3) ::raise(SIGKILL);
                                      return x;
                                  },
                                  sinew::range(0, 60));
    ASSERT_TRUE(pool.wait_until_workers_up(30s));
    over = true;
    watcher.join();
    for (int i = 0; i < 60; ++i) EXPECT_EQ(outcomes[i].has_value(), i % 10 != 3) << i;
    EXPECT_EQ(pool.stats().deaths, 12U);
    EXPECT_EQ(most, 3U);
    EXPECT_EQ(pool.stats().workers, 3);
    EXPECT_EQ(active_children().size(), 3U);
}

/// Processor time of a process, in clock ticks.
long ticks_of(pid_t pid) {
    auto const stat = read_whole(text("/proc/", pid, "/stat"));
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string skipped;
    for (int i = 3; i < 14; ++i) fields >> skipped;
    long user = 0, system = 0;
    fields >> user >> system;
    return user + system;
}

/// Processor time of this process and its children.
long ticks_of_all() {
    long ticks = ticks_of(::getpid());
    for (auto const& each : descendants_of(::getpid())) ticks += ticks_of(each.pid);
    return ticks;
}

// G18 (Fiber): idle processes sleep. Measures processor time rather than time.
TEST_F(FiberDefects, IdlePoolsNeedNoProcessor) {
    Pool pool(4, quiet());
    ASSERT_TRUE(pool.wait_until_workers_up(30s));
    pool.map<square>(sinew::range(0, 1000));
    std::this_thread::sleep_for(100ms);
    auto const before = ticks_of_all();
    EXPECT_GT(before, 0) << "to start them took some";
    std::this_thread::sleep_for(2s);
    EXPECT_LT(ticks_of_all() - before, ::sysconf(_SC_CLK_TCK) / 5) << "a tenth of a processor";
}

/// A function object with a large state, which counts how often it was decoded.
struct Heavy {
    std::string ballast;
    static inline int reads = 0;
    template <class Archive>
    void save(Archive& archive) const {
        archive(ballast);
    }
    template <class Archive>
    void load(Archive& archive) {
        archive(ballast);
        ++reads;
    }
    int operator()(int) const { return reads; }
};

// G21 (Fiber): a function is sent to a worker once; tasks are their arguments.
TEST_F(FiberDefects, TasksDoNotCarryTheirFunction) {
    Writer task;
    detail::Call<Heavy, int>::encode_arguments(task, 7);
    EXPECT_EQ(task.size(), sizeof(int));
    Pool pool(1, quiet());
    Heavy const heavy{std::string(std::size_t{4} << 20, 'x')};
    EXPECT_THAT(pool.with({.chunk = 1}).map(heavy, sinew::range(0, 500)), Each(1));
}

// G22 (Fiber): a worker that is no longer needed ends by itself, which is not a failure.
TEST_F(FiberDefects, WorkersLeaveInOrder) {
    Ledger const events("leave");
    auto options = quiet();
    options.events = events.path();
    {
        Pool pool(3, options);
        ASSERT_TRUE(pool.wait_until_workers_up(60s));  // workers that are not up yet are killed
        pool.map<square>(sinew::range(0, 100));
        pool.close();
        pool.join();
        EXPECT_EQ(pool.stats().stale_messages, 0U);
    }
    auto const words = read_whole(events.path());
    std::size_t ends = 0;
    for (std::size_t at = 0; (at = words.find("worker_ended", at)) != words.npos; ++at) {
        ++ends;
        EXPECT_THAT(words.substr(at, words.find('\n', at) - at), HasSubstr("exited with code 0"));
    }
    EXPECT_EQ(ends, 3U);
}

}  // namespace
}  // namespace sinew::testing_support
