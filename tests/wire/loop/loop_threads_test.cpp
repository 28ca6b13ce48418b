// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>

#include "src/wire/loop/loop.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;

/// Two ends in one loop that answer each other, while other threads use the loop.
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
    Loop::Handle watch;
    std::atomic<bool> quiet{false};
    std::thread runner{[this] { loop.run(); }};
};

TEST_F(BusyLoop, HearsWhatOthersPost) {
    for (int i = 0; i < 2000; ++i) {
        std::promise<void> done;
        loop.post([&] { done.set_value(); });
        ASSERT_EQ(done.get_future().wait_for(20s), std::future_status::ready);
        if (i == 1000) quiet = true;  // idle from here on
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

TEST_F(BusyLoop, RunsWhatWasPostedBeforeWhatBecameReadyLater) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    int posted = 0, late = 0;
    std::promise<void> done;
    constexpr int count = 5000;
    {
        std::lock_guard const lock(guard);
        watch = loop.readable(ends[0], [&, heard = 0]() mutable {
            char byte = 0;  // the first byte that made it readable
            heard += static_cast<int>(::read(ends[0], &byte, 1));
            if (posted < heard) ++late;
            if (heard == count) done.set_value();
        });
    }
    for (int i = 0; i < count; ++i) {
        loop.post([&] { ++posted; });
        ASSERT_EQ(::write(ends[1], "x", 1), 1);
    }
    ASSERT_EQ(done.get_future().wait_for(20s), std::future_status::ready);
    std::lock_guard const lock(guard);
    EXPECT_EQ(late, 0);
    watch = {};
    for (int const end : ends) ::close(end);
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
