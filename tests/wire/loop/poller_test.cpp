// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop/poller.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include <chrono>
#include <thread>

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;

constexpr auto far_away = 60s;

UniqueFd new_event() { return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)); }

TEST(Poller, WaitsUntilTheTime) {
    Poller poller;
    for (auto const time : {0ms, 1ms, 30ms, 3ms}) {
        auto const until = Clock::now() + time;
        while (Clock::now() < until) EXPECT_FALSE(poller.wait(until));
    }
}

TEST(Poller, WaitsForATimeThatIsSoonerThanTheOneBefore) {
    Poller poller;
    poller.interrupt();
    EXPECT_FALSE(poller.wait(Clock::now() + far_away));
    auto const began = Clock::now();
    EXPECT_FALSE(poller.wait(began + 1ms));
    EXPECT_LT(Clock::now() - began, far_away / 2);
}

TEST(Poller, KeepsAnInterruptForTheNextWait) {
    Poller poller;
    for (int i = 0; i < 3; ++i) {
        auto const began = Clock::now();
        poller.interrupt();
        EXPECT_FALSE(poller.wait(began + far_away));
        EXPECT_LT(Clock::now() - began, far_away / 2);
    }
    EXPECT_FALSE(poller.wait(Clock::now() + 1ms));  // each event is reported once
}

TEST(Poller, IsInterruptedByAnotherThread) {
    Poller poller;
    for (int i = 0; i < 100; ++i) {
        std::thread other([&] { poller.interrupt(); });
        EXPECT_FALSE(poller.wait(Clock::time_point::max()));
        other.join();
    }
}

TEST(Poller, FindsWhatIsReadyBesideAnInterruptAndAnAlarm) {
    Poller poller;
    auto const event = new_event();
    int heard = 0;
    auto const watch = poller.add(event.get(), Poller::Direction::read, [&] {
        eventfd_t value = 0;
        ::eventfd_read(event.get(), &value);
        ++heard;
    });
    EXPECT_FALSE(poller.wait(Clock::now()));
    ASSERT_EQ(::eventfd_write(event.get(), 1), 0);
    poller.interrupt();
    EXPECT_TRUE(poller.wait(Clock::now()));
    poller.dispatch();
    EXPECT_EQ(heard, 1);
    EXPECT_FALSE(poller.poll());
}

}  // namespace
}  // namespace sinew::wire
