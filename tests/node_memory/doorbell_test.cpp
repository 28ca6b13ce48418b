// SPDX-License-Identifier: Apache-2.0
#include "src/node_memory/doorbell.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/node_memory/patient_waiter.hpp"

namespace sinew::node_memory {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

TEST(Doorbell, WakesASleeper) {
    Doorbell bell;
    std::atomic<bool> ready = false, asleep = false;
    Clock::duration slept{};
    std::thread sleeper([&] {
        auto const before = Clock::now();
        asleep = true;
        bell.sleep([&] { return ready.load(); }, 30s);
        slept = Clock::now() - before;
    });
    while (!asleep) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);  // it sleeps by now
    ready = true;
    bell.ring();
    sleeper.join();
    EXPECT_LT(slept, 20s);
}

TEST(Doorbell, WakesAllSleepers) {
    Doorbell bell;
    std::atomic<bool> ready = false;
    std::atomic<int> asleep = 0;
    auto const before = Clock::now();
    std::vector<std::thread> sleepers;
    for (int i = 0; i < 5; ++i)
        sleepers.emplace_back([&] {
            ++asleep;
            bell.sleep([&] { return ready.load(); }, 30s);
        });
    while (asleep < 5) std::this_thread::yield();
    std::this_thread::sleep_for(20ms);
    ready = true;
    bell.ring();
    for (std::thread& sleeper : sleepers) sleeper.join();
    EXPECT_LT(Clock::now() - before, 20s);
}

TEST(Doorbell, LetsNobodySleepWhoIsReady) {
    Doorbell bell;
    auto const before = Clock::now();
    bell.sleep([] { return true; }, 30s);
    EXPECT_LT(Clock::now() - before, 20s);
}

TEST(Doorbell, EndsASleepThatNobodyEnds) {
    Doorbell bell;
    auto const before = Clock::now();
    bell.sleep([] { return false; }, 20ms);
    EXPECT_GE(Clock::now() - before, 20ms);
}

TEST(Doorbell, IsZeroAtFirst) {
    alignas(Doorbell) std::array<unsigned char, sizeof(Doorbell)> memory{};
    auto* const bell = reinterpret_cast<Doorbell*>(memory.data());
    bell->ring();
    EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](unsigned char c) { return c == 0; }))
        << "nobody slept when it rang";
    bell->sleep([] { return false; }, 1ms);
}

// A ring between a look and the sleep may be lost, but no sleep is longer than the waiter says.
TEST(Doorbell, TwoThreadsThatWaitInTurnNeverWaitForLong) {
    Doorbell bell;
    std::atomic<int> turn = 0;
    constexpr int turns = 4000;
    auto const play = [&](int odd) {
        class Sleepy final : public Waiter {
        public:
            int spins() const override { return 0; }
            std::chrono::nanoseconds idle(int round, int) override {
                longest = std::max(longest, round);
                return 10ms;
            }
            int longest = 0;
        } waiter;
        for (int mine = odd; mine < turns; mine += 2) {
            await(waiter, bell, 0, [&] { return turn.load(std::memory_order_acquire) == mine; });
            turn.store(mine + 1, std::memory_order_release);
            bell.ring();
        }
        return waiter.longest;
    };
    auto const before = Clock::now();
    std::thread other([&] { play(1); });
    play(0);
    other.join();
    // If each wake-up were lost, it would take 40 s.
    EXPECT_LT(Clock::now() - before, 15s);
}

}  // namespace
}  // namespace sinew::node_memory
