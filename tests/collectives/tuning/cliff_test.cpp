// SPDX-License-Identifier: Apache-2.0
// On synthetic machines no choice is far from the best, and no size is suddenly much dearer than
// half of it. Fixed borders between orders must not make cliffs on any number of ranks.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "collectives/tuning/tuner.hpp"

namespace sinew::collectives {
namespace {

struct Network {
    char const* name;
    double latency;   // seconds
    double per_byte;  // seconds
};
constexpr Network networks[] = {{"10 Gbit/s Ethernet, TCP", 25e-6, 0.8e-9},
                                {"100 Gbit/s Ethernet, RDMA", 3e-6, 0.08e-9},
                                {"400 Gbit/s InfiniBand", 1.2e-6, 0.02e-9}};

constexpr int rank_counts[] = {2,   3,   4,    5,    6,    7,    8,    12,  16,  17,
                               24,  32,  48,   63,   64,   96,   128,  192, 256, 384,
                               500, 512, 1000, 1024, 1536, 2048, 3000, 4096};

Model model_of(Network const& network) {
    Model model;
    for (std::size_t i = 0; i < Model::sizes.size(); ++i)
        model.seconds[i] =
            network.latency + network.per_byte * static_cast<double>(Model::sizes[i]);
    model.stream_per_byte = network.per_byte;
    model.reduce_per_byte = 1e-10;
    model.segment = 16384;
    model.window = 16;
    return model;
}

/// The expected times of a vector: of the chosen algorithm, the fastest of its order, and of all.
struct Times {
    double chosen;
    double best_in_order = HUGE_VAL;
    double best = HUGE_VAL;
};

Times times_of(Tuner const& tuner, Collective collective, int ranks, std::size_t bytes) {
    Shape const shape{.ranks = ranks, .bytes = bytes, .count = bytes / 4};
    auto const all = algorithms(collective);
    Algorithm const& chosen = tuner.choice(collective, shape, all.front().order != Order::none);
    Times times{chosen.seconds(shape, tuner.model())};
    for (Algorithm const& candidate : all) {
        if (!candidate.applies(shape)) continue;
        double const seconds = candidate.seconds(shape, tuner.model());
        times.best = std::min(times.best, seconds);
        if (candidate.order == chosen.order)
            times.best_in_order = std::min(times.best_in_order, seconds);
    }
    return times;
}

/// Calls use(tuner, collective, ranks) for all machines.
template <class Use>
void on_all_machines(Use use) {
    for (Network const& network : networks)
        for (int const ranks : rank_counts)
            for (int i = 0; i < collectives_count; ++i) {
                auto const collective = static_cast<Collective>(i);
                SCOPED_TRACE(std::string(name(collective)) + " on " + std::to_string(ranks) +
                             " ranks, " + network.name);
                use(Tuner(model_of(network), true, ""), collective, ranks);
            }
}

constexpr std::size_t largest = std::size_t{1} << 30;

TEST(Cliff, NoChoiceIsFarFromTheBestOfItsOrder) {
    on_all_machines([](Tuner const& tuner, Collective collective, int ranks) {
        for (std::size_t power = 8; power <= largest; power *= 2)
            for (std::size_t const bytes :
                 {power, power + power / 4, power / 2 * 3 - 1, power / 2 * 3, 2 * power - 1}) {
                Times const times = times_of(tuner, collective, ranks, bytes);
                EXPECT_LE(times.chosen, 1.3 * times.best_in_order) << bytes << " bytes";
            }
    });
}

// The order is fixed without a measurement, so it costs something on some machines.
TEST(Cliff, NoOrderIsFarFromTheBest) {
    on_all_machines([](Tuner const& tuner, Collective collective, int ranks) {
        double const limit = collective == Collective::allreduce ? 2 : 4;
        for (std::size_t bytes = 8; bytes <= largest; bytes *= 2) {
            Times const times = times_of(tuner, collective, ranks, bytes);
            EXPECT_LE(times.chosen, limit * times.best) << bytes << " bytes";
        }
    });
}

TEST(Cliff, NoSizeIsSuddenlyDearer) {
    on_all_machines([](Tuner const& tuner, Collective collective, int ranks) {
        double half = times_of(tuner, collective, ranks, 8).chosen;
        for (std::size_t bytes = 16; bytes <= largest; bytes *= 2) {
            double const seconds = times_of(tuner, collective, ranks, bytes).chosen;
            EXPECT_LE(seconds, 1.5 * 2 * half) << bytes << " bytes";
            half = seconds;
        }
    });
}

}  // namespace
}  // namespace sinew::collectives
