// SPDX-License-Identifier: Apache-2.0
// Which waiting job of a server begins next.
#include "launchers/service/server/schedule.hpp"

#include <gmock/gmock.h>

#include <random>

namespace sinew::launch::service {
namespace {

using namespace std::chrono_literals;
using testing::Eq;
using testing::Optional;

std::chrono::system_clock::time_point const start{1000h};
Resources const four_gpus{.gpus = 4, .cpus = 8, .memory = 100};

WaitingJob wants(int gpus, std::optional<std::chrono::milliseconds> limit = {}) {
    return {.needs = {.gpus = gpus}, .limit = limit};
}

ActiveJob has(int gpus, std::optional<std::chrono::milliseconds> until = {}) {
    return {.has = {.gpus = gpus}, .ends_by = until ? std::optional(start + *until) : std::nullopt};
}

std::optional<std::size_t> next(std::vector<WaitingJob> const& queue,
                                std::vector<ActiveJob> const& active,
                                Backfill backfill = Backfill::no) {
    return choose_next(queue, active, four_gpus, backfill, start);
}

TEST(ServiceSchedule, TheFirstBeginsWhenAllItNeedsIsFree) {
    EXPECT_EQ(next({}, {}), std::nullopt);
    EXPECT_THAT(next({wants(4)}, {}), Optional(Eq(0u)));
    EXPECT_EQ(next({wants(4)}, {has(1)}), std::nullopt);
    EXPECT_THAT(next({wants(0)}, {has(4)}), Optional(Eq(0u)));
    EXPECT_EQ(choose_next({{.needs = {.cpus = 9}}}, {}, four_gpus, Backfill::no, start),
              std::nullopt);
    EXPECT_EQ(choose_next({{.needs = {.memory = 60}}}, {{.has = {.memory = 50}}}, four_gpus,
                          Backfill::no, start),
              std::nullopt);
}

TEST(ServiceSchedule, NobodyOvertakesTheFirst) {
    EXPECT_EQ(next({wants(3), wants(1)}, {has(2)}), std::nullopt);
    EXPECT_EQ(next({wants(3), wants(1, 1ms)}, {has(2, 1h)}), std::nullopt);
}

TEST(ServiceSchedule, BackfillTakesWhatEndsBeforeTheFirstCanBegin) {
    std::vector<ActiveJob> const active{has(2, 10min)};
    EXPECT_THAT(next({wants(4), wants(2, 10min)}, active, Backfill::yes), Optional(Eq(1u)));
    EXPECT_EQ(next({wants(4), wants(2, 11min)}, active, Backfill::yes), std::nullopt);
    EXPECT_EQ(next({wants(4), wants(2)}, active, Backfill::yes), std::nullopt);
    EXPECT_EQ(next({wants(4), wants(3, 1min)}, active, Backfill::yes), std::nullopt);
    EXPECT_THAT(next({wants(4), wants(2), wants(1, 1min)}, active, Backfill::yes),
                Optional(Eq(2u)));
}

TEST(ServiceSchedule, BackfillTakesWhatTheFirstLeaves) {
    // The first needs 3 of the 4 that are free when the active job has ended.
    EXPECT_THAT(next({wants(3), wants(1)}, {has(2, 10min)}, Backfill::yes), Optional(Eq(1u)));
    EXPECT_EQ(next({wants(3), wants(2)}, {has(2, 10min)}, Backfill::yes), std::nullopt);
}

TEST(ServiceSchedule, NobodyOvertakesWhoWaitsForAJobWithoutALimit) {
    EXPECT_EQ(next({wants(4), wants(1, 1ms)}, {has(2)}, Backfill::yes), std::nullopt);
    EXPECT_EQ(next({wants(4), wants(1, 1ms)}, {has(1, 1s), has(1)}, Backfill::yes), std::nullopt);
}

// Jobs that use their limits to the full: the first of the queue begins no later with backfill.
TEST(ServiceSchedule, BackfillNeverDelaysTheFirst) {
    std::minstd_rand random(7);
    auto const number = [&](int least, int most) {
        return std::uniform_int_distribution(least, most)(random);
    };
    int overtaken = 0;
    for (int round = 0; round < 2000; ++round) {
        std::vector<ActiveJob> active;
        for (int used = 0; used < 4;) {
            int const gpus = number(1, 4 - used);
            active.push_back(has(gpus, std::chrono::seconds(number(1, 20))));
            used += gpus;
            if (number(0, 1) == 0) break;
        }
        std::vector<WaitingJob> queue{wants(number(1, 4))};
        for (int i = number(0, 5); i > 0; --i)
            queue.push_back(wants(number(1, 4), std::chrono::seconds(number(1, 20))));
        auto const begins = [&](std::vector<ActiveJob> running) {
            for (auto now = start;; now += 1s) {
                std::erase_if(running, [&](auto const& job) { return *job.ends_by <= now; });
                if (choose_next({queue.front()}, running, four_gpus, Backfill::no, now)) return now;
            }
        };
        auto const before = begins(active);
        while (auto const chosen = next(queue, active, Backfill::yes)) {
            if (*chosen == 0) break;
            ++overtaken;
            active.push_back({queue[*chosen].needs, start + *queue[*chosen].limit});
            queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(*chosen));
            ASSERT_EQ(begins(active), before) << "round " << round;
        }
    }
    EXPECT_GT(overtaken, 100);
}

}  // namespace
}  // namespace sinew::launch::service
