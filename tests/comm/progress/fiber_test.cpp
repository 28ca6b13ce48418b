// SPDX-License-Identifier: Apache-2.0
#include "src/comm/progress/fiber.hpp"

#include <gmock/gmock.h>

#include <array>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sinew::detail {
namespace {

TEST(Fiber, RunsUntilItSuspendsAndGoesOnThere) {
    std::string trace;
    Fiber fiber;
    fiber.start([&] {
        trace += 'a';
        fiber.suspend();
        trace += 'b';
        fiber.suspend();
        trace += 'c';
    });
    for (char const mark : {'1', '2', '3'}) {
        EXPECT_FALSE(fiber.ended());
        trace += mark;
        fiber.resume();
    }
    EXPECT_TRUE(fiber.ended());
    EXPECT_EQ(trace, "1a2b3c");
}

TEST(Fiber, KeepsItsVariables) {
    std::vector<int> sums;
    Fiber fiber;
    fiber.start([&] {
        std::array<int, 1000> numbers{};
        for (int i = 0; i < 1000; ++i) {
            numbers[static_cast<std::size_t>(i)] = i;
            if (i % 100 == 0) fiber.suspend();
        }
        int sum = 0;
        for (int const number : numbers) sum += number;
        sums.push_back(sum);
    });
    while (!fiber.ended()) fiber.resume();
    EXPECT_THAT(sums, testing::ElementsAre(499500));
}

TEST(Fiber, ThrowsAndCatchesWithinItself) {
    std::string caught;
    Fiber fiber;
    fiber.start([&] {
        try {
            fiber.suspend();
            throw std::runtime_error("inside");
        } catch (std::exception const& error) {
            caught = error.what();
        }
        fiber.suspend();
    });
    fiber.resume();
    try {  // while the resuming side handles an exception
        throw std::logic_error("outside");
    } catch (std::logic_error const& error) {
        fiber.resume();
        EXPECT_STREQ(error.what(), "outside");
    }
    EXPECT_EQ(caught, "inside");
    fiber.resume();
    EXPECT_TRUE(fiber.ended());
}

TEST(Fiber, RunsOneBodyAfterTheOther) {
    Fiber fiber;
    EXPECT_TRUE(fiber.ended());
    void const* first = nullptr;
    for (int i = 0; i < 100'000; ++i) {
        void const* frame = nullptr;
        fiber.start([&] {
            frame = __builtin_frame_address(0);
            if (i % 2 == 0) fiber.suspend();
        });
        EXPECT_FALSE(fiber.ended());
        while (!fiber.ended()) fiber.resume();
        if (i == 0) first = frame;
        ASSERT_EQ(frame, first) << "body " << i << ": one before has left something on the stack";
    }
}

TEST(Fiber, MayGoBeforeItsBodyHasEnded) {
    Fiber never_resumed;
    never_resumed.start([] {});
    Fiber abandoned;
    abandoned.start([&] { abandoned.suspend(); });
    abandoned.resume();
    EXPECT_FALSE(abandoned.ended());
}

TEST(Fiber, TakesTurnsWithOthers) {
    std::string trace;
    std::vector<std::unique_ptr<Fiber>> fibers;
    for (char name = 'a'; name < 'd'; ++name) {
        auto& fiber = *fibers.emplace_back(std::make_unique<Fiber>());
        fiber.start([&, name] {
            for (int i = 0; i < 3; ++i) {
                trace += name;
                fiber.suspend();
            }
        });
    }
    for (int round = 0; round < 4; ++round)
        for (auto const& fiber : fibers) fiber->resume();
    EXPECT_EQ(trace, "abcabcabc");
    for (auto const& fiber : fibers) EXPECT_TRUE(fiber->ended());
}

TEST(Fiber, OfOneThreadKnowsNothingOfAnothers) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([] {
            int rounds = 0;
            Fiber fiber;
            fiber.start([&] {
                for (; rounds < 1000; ++rounds) fiber.suspend();
            });
            while (!fiber.ended()) fiber.resume();
            EXPECT_EQ(rounds, 1000);
        });
    for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace sinew::detail
