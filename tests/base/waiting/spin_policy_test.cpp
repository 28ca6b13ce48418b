// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/spin_policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace sinew {
namespace {

using namespace std::chrono_literals;
using Duration = SpinPolicy::Duration;

constexpr Duration long_ago = 1h;  // arrival time of events that polling never finds

/// One wait for an event that arrives after `arrival`; it is found by polling or slept for. Returns
/// the cost: half of the time polled, plus a wake-up if the waiter slept.
Duration wait_for(SpinPolicy& policy, Duration arrival) {
    auto const look = policy.time();
    if (look > 0ns && arrival <= look) {
        policy.found(arrival);
        return arrival / 2;
    }
    if (look > 0ns) policy.missed(look);
    policy.slept(std::max(arrival, look) + policy.wake_up());
    return look / 2 + policy.wake_up();
}

Duration cost_of_fixed(Duration look, Duration wake_up, std::vector<Duration> const& arrivals) {
    Duration cost{};
    for (auto const each : arrivals)
        cost += look > 0ns && each <= look ? each / 2 : look / 2 + wake_up;
    return cost;
}

Duration best_fixed(Duration wake_up, std::vector<Duration> const& arrivals) {
    Duration best = Duration::max();
    for (double const look : {0.0, 0.5, 1.0, 2.0, 3.0})
        best = std::min(best, cost_of_fixed(std::chrono::duration_cast<Duration>(look * wake_up),
                                            wake_up, arrivals));
    return best;
}

void expect_competitive(Duration wake_up, std::vector<Duration> const& arrivals,
                        std::string const& what) {
    SpinPolicy policy(wake_up);
    Duration cost{};
    for (auto const each : arrivals) cost += wait_for(policy, each);
    EXPECT_LE(cost, 2 * best_fixed(wake_up, arrivals) + 100 * wake_up)
        << what << ", a wake-up of " << wake_up.count() << " ns";
}

/// The share of the next `waits` waits that poll.
double share_of_looks(SpinPolicy& policy, int waits,
                      std::function<void(Duration look)> const& wait) {
    int looks = 0;
    for (int i = 0; i < waits; ++i) {
        auto const look = policy.time();
        if (look > 0ns) ++looks;
        wait(look);
    }
    return static_cast<double>(looks) / waits;
}

struct SpinPolicyTest : testing::TestWithParam<Duration> {
    Duration const wake_up = GetParam();
    Duration part(double of_wake_up) const {
        return std::chrono::duration_cast<Duration>(of_wake_up * wake_up);
    }
    SpinPolicy policy{wake_up};
};

INSTANTIATE_TEST_SUITE_P(WakeUps, SpinPolicyTest, testing::Values(5us, 25us, 100us),
                         [](auto const& each) {
                             return std::to_string(each.param.count()) + "ns";
                         });

TEST_P(SpinPolicyTest, LooksWhereAnswersComeAtOnce) {
    for (int i = 0; i < 100; ++i) wait_for(policy, part(0.2));
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(wait_for(policy, part(0.2)), part(0.2) / 2);
}

TEST_P(SpinPolicyTest, SleepsWhereTheyDoNot) {
    for (int i = 0; i < 100; ++i) wait_for(policy, part(0.2));
    for (int i = 0; i < 100; ++i) wait_for(policy, 1s);
    Duration cost{};
    for (int i = 0; i < 10'000; ++i) cost += wait_for(policy, 1s);
    EXPECT_LE(cost, 10'000 * wake_up + 10'000 * part(0.05));
}

TEST_P(SpinPolicyTest, LooksAtMostForThreeWakeUps) {
    std::mt19937 random(1);
    for (int i = 0; i < 10'000; ++i) {
        auto const look = policy.time();
        EXPECT_LE(look, 3 * wake_up);
        policy.slept(look + wake_up * (random() % 5));
    }
}

/// Two ends that answer each other after `service`.
struct Conversation {
    SpinPolicy left, right;
    Duration wake_up, service;
    Duration left_waits_since{}, right_waits_since{};

    /// The time at which a message sent at `now` is noticed.
    Duration notice(SpinPolicy& by, Duration since, Duration now) const {
        auto const look = by.time();
        auto const after = now - since;
        if (look > 0ns && after <= look) return by.found(after), now;
        if (look > 0ns) by.missed(look);
        by.slept(after + wake_up);
        return now + wake_up;
    }
    Duration round_trip(Duration now) {
        left_waits_since = now;
        auto const answered = notice(right, right_waits_since, now) + service;
        right_waits_since = answered;
        return notice(left, left_waits_since, answered) + service - now;
    }
};

// A polling limit below the wake-up time never finds anything here.
TEST_P(SpinPolicyTest, TwoEndsThatBothSleepFindEachOther) {
    Conversation both{policy, SpinPolicy(wake_up), wake_up, part(0.2)};
    Duration now = 1s, last{};
    int rounds = 0;
    for (; rounds < 1000 && last != 2 * both.service; ++rounds) now += last = both.round_trip(now);
    EXPECT_LE(rounds, 100);
    for (int i = 0; i < 1000; ++i) now += last = both.round_trip(now);
    EXPECT_EQ(last, 2 * both.service);
    // The same after one end was late once.
    now += 1s;
    for (int i = 0; i < 20; ++i) now += last = both.round_trip(now);
    EXPECT_EQ(last, 2 * both.service);
}

TEST_P(SpinPolicyTest, AStopOfSecondsPoisonsNothing) {
    for (int i = 0; i < 100; ++i) wait_for(policy, part(0.2));
    for (int stop = 0; stop < 20; ++stop) {
        for (int i = 0; i < 32; ++i) wait_for(policy, part(0.2));
        ASSERT_GT(policy.time(), 0ns);
        if (stop % 2 == 0) policy.found(5s);
        else policy.missed(5s), policy.slept(10s);
        EXPECT_GT(policy.time(), 0ns) << "after stop " << stop;
        policy.found(part(0.2));
    }
}

TEST_P(SpinPolicyTest, ALongSliceOfAnotherIsForgottenSoon) {
    for (int i = 0; i < 100; ++i) wait_for(policy, part(0.2));
    ASSERT_GT(policy.time(), 0ns);
    policy.found(20ms);
    for (int i = 0; i < 2000; ++i) wait_for(policy, part(0.2));
    EXPECT_GT(policy.time(), 0ns);
}

TEST_P(SpinPolicyTest, ANeighbourThatSeldomTakesTheProcessorIsBorne) {
    // A time slice of 30 wake-ups in one of a hundred waits: 0.3 wake-ups per wait, next to 1 for
    // sleeping.
    int waits = 0;
    auto const wait = [&](Duration look) {
        bool const taken = ++waits % 100 == 0;
        if (look == 0ns) policy.slept(part(1.2));
        else policy.found(taken ? look + part(30) : part(0.2));
    };
    share_of_looks(policy, 10'000, wait);
    EXPECT_GE(share_of_looks(policy, 10'000, wait), 0.95);
}

TEST_P(SpinPolicyTest, BesideABusyNeighbourItSleeps) {
    // The same in one of ten of the waits that poll: three wake-ups each.
    int looks = 0;
    Duration cost{};
    auto const wait = [&](Duration look) {
        bool const taken = look > 0ns && ++looks % 10 == 0;
        if (look == 0ns) policy.slept(part(1.2));
        else policy.found(taken ? look + part(30) : part(0.2));
        cost += look == 0ns ? wake_up : taken ? look + part(30) : part(0.2);
    };
    share_of_looks(policy, 10'000, wait);
    cost = {};
    EXPECT_LE(share_of_looks(policy, 100'000, wait), 0.05);
    EXPECT_LE(cost, 100'000 * part(1.1));
    // The other process ends, and polling resumes.
    auto const alone = [&](Duration look) {
        look == 0ns ? policy.slept(part(1.2)) : policy.found(part(0.2));
    };
    share_of_looks(policy, 100'000, alone);
    EXPECT_GE(share_of_looks(policy, 10'000, alone), 0.95);
}

TEST_P(SpinPolicyTest, CostsAtMostTwiceTheBestFixedDecision) {
    auto const every = [](int count, std::function<Duration(int)> const& arrival) {
        std::vector<Duration> all;
        for (int i = 0; i < count; ++i) all.push_back(arrival(i));
        return all;
    };
    expect_competitive(wake_up, every(20'000, [&](int) { return part(0.1); }), "at once");
    expect_competitive(wake_up, every(20'000, [&](int) { return long_ago; }), "late");
    expect_competitive(wake_up, every(20'000, [&](int) { return part(1.5); }), "in between");
    for (int const run : {1, 2, 4, 8, 16, 50, 500}) {
        auto const turns = every(20'000, [&](int i) { return i / run % 2 ? long_ago : part(0.1); });
        expect_competitive(wake_up, turns, "turns of " + std::to_string(run));
        auto const bursts =
            every(20'000, [&](int i) { return i % run == 0 ? long_ago : part(0.1); });
        expect_competitive(wake_up, bursts, "bursts of " + std::to_string(run));
    }
    for (unsigned seed = 1; seed <= 200; ++seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> any(0, 1);
        double late = any(random), spread = 3 * any(random);
        auto const mixed = every(3000, [&](int i) {
            if (i % 300 == 0) late = any(random), spread = 3 * any(random);
            return any(random) < late ? long_ago : part(spread * any(random));
        });
        expect_competitive(wake_up, mixed, "seed " + std::to_string(seed));
    }
}

TEST_P(SpinPolicyTest, AlsoAgainstOneWhoKnowsWhatItDecides) {
    for (double const when_it_sleeps : {0.0, 0.4, 0.9}) {
        SpinPolicy fooled(wake_up);
        std::vector<Duration> arrivals;
        Duration cost{};
        for (int i = 0; i < 20'000; ++i) {
            auto peek = fooled;
            arrivals.push_back(peek.time() == 0ns ? part(when_it_sleeps) : long_ago);
            cost += wait_for(fooled, arrivals.back());
        }
        EXPECT_LE(cost, 2 * best_fixed(wake_up, arrivals) + 100 * wake_up) << when_it_sleeps;
    }
}

TEST(SpinPolicyWithoutAWakeUp, NeverLooks) {
    for (SpinPolicy policy : {SpinPolicy(), SpinPolicy(0ns), SpinPolicy(-5us)}) {
        for (int i = 0; i < 1000; ++i) {
            EXPECT_EQ(policy.time(), 0ns);
            policy.slept(1us);
        }
    }
}

}  // namespace
}  // namespace sinew
