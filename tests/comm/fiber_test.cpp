// SPDX-License-Identifier: Apache-2.0
#include "src/comm/fiber.hpp"

#include <gmock/gmock.h>

#include <array>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sinew::detail {
namespace {

std::unique_ptr<FiberStack> stack() { return std::make_unique<FiberStack>(); }

TEST(Fiber, RunsUntilItSuspendsAndGoesOnThere) {
    std::string trace;
    Fiber* self = nullptr;
    Fiber fiber(stack(), [&] {
        trace += 'a';
        self->suspend();
        trace += 'b';
        self->suspend();
        trace += 'c';
    });
    self = &fiber;
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
    Fiber* self = nullptr;
    Fiber fiber(stack(), [&] {
        std::array<int, 1000> numbers{};
        for (int i = 0; i < 1000; ++i) {
            numbers[static_cast<std::size_t>(i)] = i;
            if (i % 100 == 0) self->suspend();
        }
        int sum = 0;
        for (int const number : numbers) sum += number;
        sums.push_back(sum);
    });
    self = &fiber;
    while (!fiber.ended()) fiber.resume();
    EXPECT_THAT(sums, testing::ElementsAre(499500));
}

TEST(Fiber, ThrowsAndCatchesWithinItself) {
    std::string caught;
    Fiber* self = nullptr;
    Fiber fiber(stack(), [&] {
        try {
            self->suspend();
            throw std::runtime_error("inside");
        } catch (std::exception const& error) {
            caught = error.what();
        }
        self->suspend();
    });
    self = &fiber;
    fiber.resume();
    try {  // while the resuming side handles one of its own
        throw std::logic_error("outside");
    } catch (std::logic_error const& error) {
        fiber.resume();
        EXPECT_STREQ(error.what(), "outside");
    }
    EXPECT_EQ(caught, "inside");
    fiber.resume();
    EXPECT_TRUE(fiber.ended());
}

TEST(Fiber, PassesItsStackOn) {
    auto memory = stack();
    void const* const bottom = memory->bottom();
    for (int i = 0; i < 100; ++i) {
        bool ran = false;
        Fiber fiber(std::move(memory), [&] { ran = true; });
        fiber.resume();
        ASSERT_TRUE(ran && fiber.ended());
        memory = fiber.take_stack();
        ASSERT_EQ(memory->bottom(), bottom);
    }
}

TEST(Fiber, TakesTurnsWithOthers) {
    std::string trace;
    std::vector<std::unique_ptr<Fiber>> fibers;
    for (char name = 'a'; name < 'd'; ++name)
        fibers.push_back(std::make_unique<Fiber>(stack(), [&, name] {
            for (int i = 0; i < 3; ++i) {
                trace += name;
                fibers[static_cast<std::size_t>(name - 'a')]->suspend();
            }
        }));
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
            Fiber* self = nullptr;
            Fiber fiber(stack(), [&] {
                for (; rounds < 1000; ++rounds) self->suspend();
            });
            self = &fiber;
            while (!fiber.ended()) fiber.resume();
            EXPECT_EQ(rounds, 1000);
        });
    for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace sinew::detail
