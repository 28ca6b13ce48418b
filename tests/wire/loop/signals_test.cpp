// SPDX-License-Identifier: Apache-2.0
#include "src/wire/loop/signals.hpp"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sinew/error.hpp>
#include <stdexcept>
#include <vector>

#include "tests/wire/support.hpp"

namespace sinew::wire {
namespace {

using namespace std::chrono_literals;
using test::run_for;
using test::run_until;
using testing::ElementsAre;

auto disposition(int number) {
    struct sigaction now {};
    EXPECT_EQ(::sigaction(number, nullptr, &now), 0);
    return now.sa_handler;
}

TEST(Signals, AreDeliveredByNumber) {
    Loop loop;
    std::vector<int> seen;
    {
        auto const handle = loop.signals({SIGUSR2, SIGUSR1}, [&](int number) {
            seen.push_back(number);
            if (seen.size() == 2) loop.stop();
        });
        ::kill(::getpid(), SIGUSR2);
        ::kill(::getpid(), SIGUSR1);
        loop.run();
    }
    EXPECT_THAT(seen, ElementsAre(SIGUSR1, SIGUSR2));
    EXPECT_EQ(disposition(SIGUSR1), SIG_DFL);  // restored
}

TEST(Signals, ThatComeWhileOneIsDeliveredAreDelivered) {
    Loop loop;
    std::vector<int> seen;
    auto const handle = loop.signals({SIGUSR1, SIGUSR2}, [&](int number) {
        seen.push_back(number);
        if (seen.size() < 4) ::kill(::getpid(), number == SIGUSR1 ? SIGUSR2 : SIGUSR1);
    });
    ::kill(::getpid(), SIGUSR1);
    EXPECT_TRUE(run_until(loop, [&] { return seen.size() == 4; }));
    EXPECT_THAT(seen, ElementsAre(SIGUSR1, SIGUSR2, SIGUSR1, SIGUSR2));
}

TEST(Signals, AreToldToAllThatWantThem) {
    Loop one, other;
    int first = 0, second = 0, third = 0;
    auto const a = one.signals({SIGUSR1}, [&](int) { ++first; });
    auto b = other.signals({SIGUSR1}, [&](int) { ++second; });
    auto const c = other.signals({SIGUSR2}, [&](int) { ++third; });
    ::kill(::getpid(), SIGUSR1);
    EXPECT_TRUE(run_until(one, [&] { return first == 1; }));
    EXPECT_TRUE(run_until(other, [&] { return second == 1; }));
    b = {};
    ::kill(::getpid(), SIGUSR1);
    EXPECT_TRUE(run_until(one, [&] { return first == 2; }));
    run_for(other, 5ms);
    EXPECT_EQ(second, 1);
    EXPECT_EQ(third, 0);
}

TEST(Signals, BeforeTheyWereWantedAreNotTold) {
    Loop loop;
    auto const always = loop.signals({SIGUSR1}, [](int) {});
    ::kill(::getpid(), SIGUSR1);
    int times = 0;
    auto const later = loop.signals({SIGUSR1}, [&](int) { ++times; });
    run_for(loop, 5ms);
    EXPECT_EQ(times, 0);
}

TEST(Signals, GiveTheFormerDispositionBack) {
    auto* const former = ::signal(SIGUSR1, SIG_IGN);
    {
        Loop loop;
        auto first = loop.signals({SIGUSR1}, [](int) {});
        auto const second = loop.signals({SIGUSR1}, [](int) {});
        first = {};
        EXPECT_NE(disposition(SIGUSR1), SIG_IGN);
    }
    EXPECT_EQ(disposition(SIGUSR1), SIG_IGN);
    ::signal(SIGUSR1, former);
}

TEST(Signals, OfAForkedChildAreNotItsParents) {
    Loop loop;
    int times = 0;
    auto const handle = loop.signals({SIGUSR1}, [&](int) { ++times; });
    pid_t const child = ::fork();
    if (child == 0) {
        ::kill(::getpid(), SIGUSR1);
        ::_exit(0);
    }
    ASSERT_GT(child, 0);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    run_for(loop, 5ms);
    EXPECT_EQ(times, 0);
}

TEST(Signals, AreNotLostWhereACallThrowsOrEndsThem) {
    Loop loop;
    int thrown = 0, after = 0;
    auto const handle = loop.signals({SIGUSR1, SIGUSR2}, [&](int number) {
        if (number == SIGUSR1) {
            ++thrown;
            throw std::runtime_error("out of a callback");
        }
        ++after;
    });
    Loop::Handle own;
    int times = 0;
    own = loop.signals({SIGUSR1, SIGUSR2}, [&](int) {
        ++times;
        own = {};
    });
    ::kill(::getpid(), SIGUSR1);
    ::kill(::getpid(), SIGUSR2);
    EXPECT_THROW(loop.run(), std::runtime_error);
    EXPECT_TRUE(run_until(loop, [&] { return after == 1 && times == 1; }));
    EXPECT_EQ(thrown, 1);
}

TEST(Signals, ThatCannotBeHandledAreRefused) {
    Loop loop;
    for (int const number : {0, -1, SIGKILL, SIGSTOP, 10'000})
        EXPECT_THROW((void)loop.signals({SIGUSR1, number}, [](int) {}), SystemError) << number;
    EXPECT_EQ(disposition(SIGUSR1), SIG_DFL);
}

TEST(Signals, MayBeWantedManyTimesButNotAtOnce) {
    Loop loop;
    for (int i = 0; i < 1000; ++i) (void)loop.signals({SIGUSR1}, [](int) {});
    std::vector<Loop::Handle> all;
    EXPECT_THROW(for (int i = 0; i < 1000; ++i) all.push_back(loop.signals({SIGUSR1}, [](int) {})),
                 SystemError);
}

}  // namespace
}  // namespace sinew::wire
