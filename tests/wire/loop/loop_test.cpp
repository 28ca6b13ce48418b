// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop/loop.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <sinew/error.hpp>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "src/base/system/unique_fd.hpp"
#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using test::run_until;
using testing::ElementsAre;

/// Both ends of a pipe.
struct Pipe {
    Pipe() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }
    ~Pipe() {
        for (int const fd : ends) {
            if (fd >= 0) ::close(fd);
        }
    }
    void put() { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
    void take() {
        char byte;
        EXPECT_EQ(::read(ends[0], &byte, 1), 1);
    }
    std::array<int, 2> ends{-1, -1};
};

TEST(Loop, RunsTimersInTheOrderOfTheirTimes) {
    Loop loop;
    std::vector<int> order;
    auto const third = loop.after(30ms, [&] { order.push_back(3), loop.stop(); });
    auto const first = loop.after(0ms, [&] { order.push_back(1); });
    auto const second = loop.after(10ms, [&] { order.push_back(2); });
    loop.run();
    EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(Loop, RunsNoTimerWhoseHandleIsGone) {
    Loop loop;
    bool ran = false;
    Loop::Handle handle = loop.after(1ms, [&] { ran = true; });
    handle = {};
    test::run_for(loop, 30ms);
    EXPECT_FALSE(ran);
}

TEST(Loop, LetsACallbackDestroyItsOwnHandle) {
    Loop loop;
    int times = 0;
    Loop::Handle handle;
    handle = loop.every(1ms, [&] {
        ++times;
        handle = {};
        loop.stop();
    });
    loop.run();
    test::run_for(loop, 20ms);
    EXPECT_EQ(times, 1);
}

TEST(Loop, SkipsTurnsOfATimerThatItMissed) {
    Loop loop;
    int times = 0;
    auto const often = loop.every(20ms, [&] {
        if (++times == 1) std::this_thread::sleep_for(150ms);
    });
    test::run_for(loop, 5ms);
    run_until(loop, [&] { return times >= 2; });
    EXPECT_LE(times, 3);  // not the seven missed ones
}

TEST(Loop, TellsHowLateItIs) {
    Loop loop;
    Clock::duration within{};
    auto const slow = loop.after(0ms, [&] {
        std::this_thread::sleep_for(100ms);
        within = loop.lag();
        loop.stop();
    });
    loop.run();
    EXPECT_GE(within, 100ms);
    EXPECT_GE(loop.lag(), 100ms);
    EXPECT_TRUE(run_until(loop, [&] { return loop.lag() < 50ms; }));  // the lag is reset
}

TEST(Loop, KeepsTheOrderOfWhatEachThreadPosts) {
    Loop loop;
    std::array<std::vector<int>, 4> seen;
    std::vector<std::thread> threads;
    for (std::size_t thread = 0; thread < seen.size(); ++thread) {
        threads.emplace_back([&loop, &mine = seen[thread]] {
            for (int i = 0; i < 1000; ++i) loop.post([&mine, i] { mine.push_back(i); });
        });
    }
    EXPECT_TRUE(run_until(loop, [&] {
        for (auto const& each : seen) {
            if (each.size() < 1000) return false;
        }
        return true;
    }));
    for (auto& thread : threads) thread.join();
    for (auto const& each : seen) EXPECT_TRUE(std::is_sorted(each.begin(), each.end()));
}

TEST(Loop, NeverRunsPostedWorkWithinTheCall) {
    Loop loop;
    bool inside = false, nested = false;
    loop.post([&] {
        inside = true;
        loop.post([&] {
            nested = inside;
            loop.stop();
        });
        inside = false;
    });
    loop.run();
    EXPECT_FALSE(nested);
}

TEST(Loop, WatchesOneDescriptorForSeveralHandles) {
    Loop loop;
    Pipe pipe;
    int first = 0, second = 0;
    Loop::Handle one = loop.readable(pipe.ends[0], [&] {
        ++first;
        one = {};
    });
    Loop::Handle const other = loop.readable(pipe.ends[0], [&] {
        if (++second == 3) pipe.take(), loop.stop();
    });
    pipe.put();
    loop.run();
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 3);  // repeatedly, until it is read
}

TEST(Loop, LeavesDescriptorsAsTheyAre) {
    Pipe pipe;
    int const before = ::fcntl(pipe.ends[0], F_GETFL);
    {
        Loop loop;
        auto const handle = loop.readable(pipe.ends[0], [&] { pipe.take(), loop.stop(); });
        auto const writable = loop.writable(pipe.ends[1], [&] {});
        pipe.put();
        loop.run();
        EXPECT_EQ(::fcntl(pipe.ends[0], F_GETFL), before);
    }
    EXPECT_EQ(::fcntl(pipe.ends[0], F_GETFL), before);  // and still open
    pipe.put();
}

TEST(Loop, FindsTheEndOfAPipe) {
    Loop loop;
    Pipe pipe;
    ::close(std::exchange(pipe.ends[1], -1));
    bool ended = false;
    auto const handle = loop.readable(pipe.ends[0], [&] { ended = true; });
    EXPECT_TRUE(run_until(loop, [&] { return ended; }));
}

TEST(Loop, GoesOnWithTimersAndPostedWorkBesideWhatIsAlwaysReady) {
    Loop loop;
    Pipe pipe;
    pipe.put();
    int turns = 0, turns_at_post = 0;
    auto const busy = loop.readable(pipe.ends[0], [&] {
        if (++turns == 1) loop.post([&] { turns_at_post = turns; });
    });
    auto const timer = loop.after(20ms, [&] { loop.stop(); });
    loop.run();
    EXPECT_GE(turns_at_post, 1);
    EXPECT_LE(turns_at_post, 16);  // the maximum in a row
}

TEST(Loop, BeginsNoTurnAfterStop) {
    Loop loop;
    Pipe pipe;
    pipe.put();
    int turns = 0;
    auto const busy = loop.readable(pipe.ends[0], [&] {
        ++turns;
        loop.stop();
    });
    loop.run();
    EXPECT_EQ(turns, 1);
}

TEST(Loop, TakesWhatTheKernelDoesNotPollAsReady) {
    Loop loop;
    UniqueFd const null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    int times = 0;
    Loop::Handle handle = loop.readable(null.get(), [&] {
        if (++times == 3) handle = {};
    });
    EXPECT_TRUE(run_until(loop, [&] { return times == 3; }));
    test::run_for(loop, 10ms);
    EXPECT_EQ(times, 3);
}

TEST(Loop, RefusesWhatIsNoDescriptor) {
    Loop loop;
    EXPECT_THROW((void)loop.readable(-1, [] {}), SystemError);
}

TEST(Loop, RethrowsAndRunsOn) {
    Loop loop;
    Pipe pipe;
    bool again = false;
    pipe.put();
    int times = 0;
    auto const handle = loop.readable(pipe.ends[0], [&] {
        if (++times == 1) throw std::runtime_error("out of a callback");
        pipe.take();
        again = true;
    });
    EXPECT_THROW(loop.run(), std::runtime_error);
    EXPECT_TRUE(run_until(loop, [&] { return again; }));
}

TEST(Loop, IsStoppedEvenBeforeItRuns) {
    Loop loop;
    loop.stop();
    loop.run();  // returns
    std::thread other([&] { loop.stop(); });
    loop.run();
    other.join();
}

}  // namespace
}  // namespace sinew::wire
