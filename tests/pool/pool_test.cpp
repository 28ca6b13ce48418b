// SPDX-License-Identifier: Apache-2.0
//
// Results of a pool without failures. Tests name the defects of Fiber that they concern (G1 ...).
#include <gmock/gmock.h>

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

using PoolCallsTest = PoolTest;

struct Scale {
    double k;
    double operator()(double x) const { return k * x; }
};

/// An endless input that counts how far it was read; an iterator may be used for one pass.
struct Endless {
    struct Iterator {
        using difference_type = std::ptrdiff_t;
        using value_type = int;
        int operator*() const {
            ++input->read;
            return at;
        }
        Iterator& operator++() {
            ++at;
            return *this;
        }
        void operator++(int) { ++at; }
        bool operator==(std::default_sentinel_t) const { return false; }
        Endless* input = nullptr;
        int at = 0;
    };
    Iterator begin() { return {this}; }
    std::default_sentinel_t end() const { return {}; }
    std::atomic<long> read = 0;
};

TEST_F(PoolCallsTest, MapKeepsTheOrder) {
    Pool pool(4, quiet());
    auto const squares = pool.map<square>(sinew::range(0, 10'000));
    ASSERT_EQ(squares.size(), 10'000U);
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(squares[i], square(i));
}

TEST_F(PoolCallsTest, MapOfNothingIsEmpty) {
    Pool pool(2, quiet());
    EXPECT_TRUE(pool.map<square>(std::vector<int>()).empty());
}

TEST_F(PoolCallsTest, FunctionsMayBeLambdasAndObjects) {
    Pool pool(2, quiet());
    EXPECT_THAT(pool.map([](int x) { return x + 1; }, std::vector{1, 2}), ElementsAre(2, 3));
    EXPECT_THAT(pool.map(Scale{2.5}, std::vector{1.0, 2.0}), ElementsAre(2.5, 5.0));
    EXPECT_THAT(pool.map([](auto x) { return x + x; }, std::vector<std::string>{"a"}),
                ElementsAre("aa"));
}

TEST_F(PoolCallsTest, ArgumentsAndResultsMayBeOfAnyType) {
    Pool pool(2, quiet());
    EXPECT_THAT(pool.map<twice>(std::vector<std::string>{"a", "", "bc"}),
                ElementsAre("aa", "", "bcbc"));
    auto const even = pool.map([](int x) { return x % 2 == 0; }, sinew::range(0, 4));
    EXPECT_THAT(even, ElementsAre(true, false, true, false));
    auto const sizes = pool.map(
        [](std::map<std::string, std::vector<int>> const& m) { return m.begin()->second.size(); },
        std::vector<std::map<std::string, std::vector<int>>>{{{"x", {1, 2, 3}}}});
    EXPECT_THAT(sizes, ElementsAre(3U));
}

TEST_F(PoolCallsTest, StarmapSpreadsTuples) {
    Pool pool(2, quiet());
    EXPECT_THAT(pool.starmap<add>(std::vector<std::pair<int, int>>{{1, 2}, {3, 4}}),
                ElementsAre(3, 7));
    EXPECT_THAT(pool.starmap<add>(std::vector<std::tuple<int, int>>{{5, 6}}), ElementsAre(11));
}

TEST_F(PoolCallsTest, ApplyIsOneCall) {
    Pool pool(2, quiet());
    EXPECT_EQ(pool.apply<add>(1, 2), 3);
    EXPECT_EQ(pool.apply([](int a, std::string const& b) { return b + std::to_string(a); }, 1, "x"),
              "x1");
    pool.apply<nothing>(1);
    auto handle = pool.apply_async<square>(7);
    EXPECT_EQ(handle.get(), 49);
    EXPECT_EQ(handle.get(), 49) << "again";
    EXPECT_TRUE(handle.ready());
    EXPECT_TRUE(handle.successful());
}

TEST_F(PoolCallsTest, ACallMayHaveATimeLimit) {
    auto options = quiet();
    options.cancel_grace = 10ms;
    Pool pool(2, options);
    auto const in_time = pool.with({.wait_limit = 60s});
    EXPECT_THAT(in_time.map<square>(std::vector<int>{1, 2, 3}), ElementsAre(1, 4, 9));
    EXPECT_EQ(in_time.apply<square>(5), 25);
    auto const hurried = pool.with({.wait_limit = 20ms});
    auto const for_ever = [](int) {
        for (;;) std::this_thread::sleep_for(1s);
    };
    std::vector<int> const inputs(100, 1);
    EXPECT_THROW(hurried.map(for_ever, inputs), Timeout);
    EXPECT_THROW(hurried.map_settled(for_ever, inputs), Timeout);
    EXPECT_THROW(hurried.apply(for_ever, 1), Timeout);
    EXPECT_EQ(pool.apply<square>(6), 36) << "the tasks were cancelled";
    EXPECT_THROW(pool.with({.wait_limit = -1ns}).apply<square>(1), UsageError);
}

// G8
TEST_F(PoolCallsTest, TasksWithoutResultsAreTasks) {
    Pool pool(3, quiet());
    pool.map<nothing>(sinew::range(0, 1000));
    int count = 0;
    for ([[maybe_unused]] auto const& done : pool.imap<nothing>(sinew::range(0, 1000))) ++count;
    for ([[maybe_unused]] auto const& done : pool.imap_unordered<nothing>(sinew::range(0, 50)))
        ++count;
    EXPECT_EQ(count, 1050);
}

TEST_F(PoolCallsTest, ImapStreamsInOrder) {
    Pool pool(4, quiet());
    int next = 0;
    for (auto const result : pool.imap<square>(sinew::range(0, 100'000))) {
        ASSERT_EQ(result, square(next));
        if (++next == 40'000) break;  // the rest is cancelled
    }
    std::set<int> seen;
    for (auto const result : pool.imap_unordered<square>(sinew::range(0, 1000)))
        seen.insert(result);
    EXPECT_EQ(seen.size(), 1000U);
}

TEST_F(PoolCallsTest, ImapReadsItsInputAsItGoes) {
    Pool pool(2, quiet());
    Endless numbers;
    int taken = 0;
    for ([[maybe_unused]] auto const& result : pool.imap<nothing>(numbers))
        if (++taken == 10) break;
    EXPECT_LT(numbers.read, 20'000);
}

TEST_F(PoolCallsTest, ImapKeepsFewLargeResultsThatNobodyTakes) {
    Pool pool(2, quiet());
    Endless numbers;
    auto stream = pool.imap<mebibyte>(numbers);
    auto next = stream.begin();
    for (int taken = 0; taken < 100; ++taken) ++next;
    EXPECT_EQ((*next).size(), std::size_t{1} << 20);
    EXPECT_LE(numbers.read, 256) << "the first ones, whose size was not known; none since";
}

#if !defined(__clang__) || __clang_major__ >= 16  // older ones reject GCC's views as ranges
TEST_F(PoolCallsTest, InputsMayBeViews) {
    Pool pool(2, quiet());
    auto even = std::views::iota(0, 10) | std::views::filter([](int x) { return x % 2 == 0; });
    EXPECT_THAT(pool.map<square>(even), ElementsAre(0, 4, 16, 36, 64));
    std::vector<int> seen;
    for (auto const result : pool.imap<square>(std::views::iota(0, 3))) seen.push_back(result);
    EXPECT_THAT(seen, ElementsAre(0, 1, 4));
}
#endif

// G3: four tasks of equal length on four idle workers use all four.
TEST_F(PoolCallsTest, SmallMapsUseAllWorkers) {
    Pool pool(4, quiet());
    ASSERT_TRUE(pool.wait_until_workers_up(30s));
    auto const pids = pool.map<who>(std::vector(4, 300));
    EXPECT_EQ(std::set(pids.begin(), pids.end()).size(), 4U);
    std::vector<AsyncResult<pid_t>> handles;
    for (int i = 0; i < 4; ++i) handles.push_back(pool.apply_async<who>(300));
    std::set<pid_t> workers;
    for (auto& handle : handles) workers.insert(handle.get());
    EXPECT_EQ(workers.size(), 4U);
}

// G6
TEST_F(PoolCallsTest, ArgumentsAndResultsMayBeLarge) {
    Pool pool(2, quiet());
    for (std::uint64_t const count : {1, 8'000, 8'200, 150'000, 4'000'000}) {
        auto const values = blow_up(count);
        EXPECT_EQ(pool.apply<total>(values), count * (count - 1) / 2) << count;
        EXPECT_EQ(pool.apply<blow_up>(count), values) << count;
    }
    auto const all = pool.map<blow_up>(std::vector<std::uint64_t>(20, 50'000));
    EXPECT_THAT(all, Each(blow_up(50'000)));
}

TEST_F(PoolCallsTest, FixedChunksGiveTheSame) {
    Pool pool(3, quiet());
    for (int const chunk : {1, 7, 5000})
        EXPECT_EQ(pool.with({.chunk = chunk}).map<square>(sinew::range(0, 3000)),
                  pool.map<square>(sinew::range(0, 3000)))
            << chunk;
}

TEST_F(PoolCallsTest, SeveralPoolsAtOnce) {
    Pool one(2, quiet()), two(2, quiet());
    auto first = one.map_async<square>(sinew::range(0, 1000));
    auto second = two.map_async<square>(sinew::range(0, 1000));
    EXPECT_EQ(first.get(), second.get());
}

TEST_F(PoolCallsTest, ManyThreadsMayCall) {
    Pool pool(3, quiet());
    std::vector<std::future<bool>> callers;
    for (int caller = 0; caller < 8; ++caller)
        callers.push_back(std::async(std::launch::async, [&pool, caller] {
            for (int i = 0; i < 100; ++i)
                if (pool.apply<add>(caller, i) != caller + i) return false;
            return true;
        }));
    for (auto& caller : callers) EXPECT_TRUE(caller.get());
}

TEST_F(PoolCallsTest, CallbacksAreCalledAndMayUseThePool) {
    Pool pool(2, quiet());
    std::promise<int> told;
    pool.apply_async<square>(3).then([&](int nine) { told.set_value(pool.apply<square>(nine)); });
    EXPECT_EQ(told.get_future().get(), 81);
    std::promise<std::string> why;
    pool.apply_async<picky>(13).then([](int) {},
                                     [&](std::exception_ptr const& error) {
                                         try {
                                             std::rethrow_exception(error);
                                         } catch (std::exception const& problem) {
                                             why.set_value(problem.what());
                                         }
                                     });
    EXPECT_EQ(why.get_future().get(), "thirteen");
}

}  // namespace
}  // namespace sinew::testing_support
