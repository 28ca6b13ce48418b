// SPDX-License-Identifier: Apache-2.0
#include "src/wire/linger.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "src/wire/loop.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;

struct Lingerer : ::testing::Test {
    /// Whether it waited, which only the alarm ends.
    bool waits() {
        if (!linger.wait([] { return true; })) return false;
        poller.dispatch();
        return true;
    }
    Poller poller;
    Linger linger{poller};
};

TEST_F(Lingerer, FindsWhatComesWhileItWaits) {
    UniqueFd const event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    int heard = 0;
    auto const watch = poller.add(event.get(), Poller::Direction::read, [&] {
        eventfd_t value = 0;
        ::eventfd_read(event.get(), &value);
        ++heard;
    });
    for (int i = 1; i <= 100; ++i) {
        // Within its wait, as another thread would.
        while (!linger.wait([&] { return ::eventfd_write(event.get(), 1) == 0; })) {}
        poller.dispatch();
        while (heard < i && poller.poll()) poller.dispatch();
        EXPECT_EQ(heard, i);
    }
}

TEST_F(Lingerer, WaitsSeldomWhereOnlyTheAlarmEndsIt) {
    int waited = 0;
    for (int i = 0; i < 1000; ++i) waited += waits() ? 1 : 0;
    EXPECT_GE(waited, 3);
    EXPECT_LE(waited, 20);
}

TEST_F(Lingerer, GoesOnWhereItWasCalledBack) {
    // Each wait is ended, by what says that it was worth while.
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(linger.wait([this] {
            linger.news();  // heard the second time
            return true;
        }));
        poller.dispatch();
    }
}

TEST_F(Lingerer, DoesNotWaitWhereThereIsOtherWork) {
    for (int i = 0; i < 1000; ++i) EXPECT_FALSE(linger.wait([] { return false; }));
    EXPECT_FALSE(poller.poll()) << "an alarm, though nothing waited";
}

/// Two ends in one loop that answer each other: it lingers.
struct BusyLoop : ::testing::Test {
    BusyLoop() {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()),
                  0);
        std::lock_guard const lock(guard);
        for (std::size_t i = 0; i < 2; ++i)
            watches[i] = loop.readable(ends[i], [this, i] {
                char byte = 0;
                if (::read(ends[i], &byte, 1) == 1 && !quiet) [[maybe_unused]]
                    auto const put = ::write(ends[i], &byte, 1);
            });
        EXPECT_EQ(::write(ends[0], "x", 1), 1);
    }
    ~BusyLoop() override {
        loop.stop();
        runner.join();
        watches = {};
        for (int const end : ends) ::close(end);
    }
    std::mutex guard;
    Loop loop{guard};
    std::array<int, 2> ends{};
    std::array<Loop::Handle, 2> watches;
    std::atomic<bool> quiet{false};
    std::thread runner{[this] { loop.run(); }};
};

TEST_F(BusyLoop, HearsWhatOthersPost) {
    for (int i = 0; i < 2000; ++i) {
        std::promise<void> done;
        loop.post([&] { done.set_value(); });
        ASSERT_EQ(done.get_future().wait_for(20s), std::future_status::ready);
        if (i == 1000) quiet = true;  // from here on it is at rest
    }
}

TEST_F(BusyLoop, RunsTimersThatOthersStart) {
    for (int i = 0; i < 500; ++i) {
        std::promise<void> done;
        Loop::Handle timer;
        {
            std::lock_guard const lock(guard);
            timer = loop.after(i % 2 == 0 ? 0us : 100us, [&] { done.set_value(); });
        }
        ASSERT_EQ(done.get_future().wait_for(20s), std::future_status::ready);
        std::lock_guard const lock(guard);
        timer = {};
    }
}

TEST_F(BusyLoop, StopsAndRunsAgain) {
    for (int i = 0; i < 200; ++i) {
        loop.stop();
        runner.join();
        runner = std::thread([this] { loop.run(); });
    }
}

}  // namespace
}  // namespace sinew::wire
