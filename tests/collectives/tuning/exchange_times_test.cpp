// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/exchange_times.hpp"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>

namespace sinew::collectives {
namespace {

/// A link with a latency and a time per byte, which remembers what was measured on it.
struct Link {
    double latency;
    double per_byte;
    std::vector<std::size_t> measured = {};
    double spent = 0;

    double expected(std::size_t bytes) const {
        return latency + per_byte * static_cast<double>(bytes);
    }
    auto times() {
        return exchange_times([this](std::size_t bytes, int repetitions) {
            measured.push_back(bytes);
            spent += expected(bytes) * (repetitions + 1);
            return expected(bytes);
        });
    }
};

TEST(ExchangeTimes, AreThoseOfAFastLink) {
    Link link{2e-6, 1e-10};
    auto const times = link.times();
    for (std::size_t i = 0; i < times.size(); ++i)
        EXPECT_DOUBLE_EQ(times[i], link.expected(Level::sizes[i]));
    EXPECT_LT(link.spent, 0.02);
}

// Proportional times would make minutes of 4 MiB: 1 KiB takes little longer than 8 bytes.
TEST(ExchangeTimes, KeepLatencyAndTimePerByteApart) {
    for (Link link : {Link{2e-3, 1e-9}, Link{2e-3, 1e-10}, Link{30e-3, 1e-9}, Link{1e-4, 4e-8},
                      Link{6e-4, 8e-7}, Link{1e-5, 0.8e-9}}) {
        auto const times = link.times();
        for (std::size_t i = 0; i < times.size(); ++i)
            EXPECT_NEAR(times[i] / link.expected(Level::sizes[i]), 1, 0.05)
                << Level::sizes[i] << " bytes, latency " << link.latency;
    }
}

TEST(ExchangeTimes, OfASlowLinkAreMeasuredInLimitedTime) {
    Link link{1e-3, 8e-7};  // 10 Mbit/s
    link.times();
    EXPECT_LT(link.spent, 0.1);
    for (std::size_t const bytes : link.measured) EXPECT_LE(bytes, 16384U);
}

TEST(ExchangeTimes, NeverFall) {
    int call = 0;
    auto const times = exchange_times([&](std::size_t bytes, int) {
        double const noise = ++call % 3 == 0 ? 2.5 : 1;  // too little to be measured again
        return noise * (2e-6 + 1e-10 * static_cast<double>(bytes));
    });
    for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i - 1], times[i]);
}

TEST(ExchangeTimes, AreMeasuredAgainWhereTheyAreImplausible) {
    int seen = 0;
    auto const times = exchange_times([&](std::size_t bytes, int) {
        if (bytes == 3072 && ++seen <= 2) return 10e-3;
        return 2e-6;
    });
    EXPECT_EQ(seen, 3);
    EXPECT_DOUBLE_EQ(times.back(), 2e-6);
}

}  // namespace
}  // namespace sinew::collectives
