// SPDX-License-Identifier: Apache-2.0
// On synthetic machines no choice is far from the best, and no size is suddenly much dearer than
// half of it. Fixed borders between orders must not make cliffs on any number of ranks.
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
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

constexpr int rank_counts[] = {2,  3,  4,  5,  6,   7,   8,   12,  16,   17,   24,   32,
                               48, 63, 64, 96, 128, 256, 500, 512, 1000, 1024, 3000, 4096};

/// Ranks on one node; a shared network card sends their bytes one after the other.
constexpr int per_node_counts[] = {1, 4, 64};

Level level_of(double latency, double per_byte) {
    Level level;
    for (std::size_t i = 0; i < Level::sizes.size(); ++i)
        level.seconds[i] = latency + per_byte * static_cast<double>(Level::sizes[i]);
    level.stream_per_byte = per_byte;
    level.segment = 16384;
    level.window = 16;
    return level;
}

/// `by_node`: messages inside a node are no faster than the memory that it shares.
Model model_of(Network const& network, int ranks, int per_node, bool by_node = false) {
    constexpr double through_memory = 0.2e-9;
    Model model;
    model.node = level_of(std::min(1e-6, network.latency),
                          by_node ? through_memory : std::min(through_memory, network.per_byte));
    model.network = level_of(network.latency, network.per_byte);
    model.network.gap_per_message = network.latency / 50;
    model.network.gap_per_byte = network.per_byte;
    model.reduce_per_byte = 1e-10;
    model.placement = {.ranks = ranks,
                       .nodes = (ranks + per_node - 1) / per_node,
                       .per_node = std::min(ranks, per_node)};
    return model;
}

/// The expected times of a vector: of the chosen algorithm, the fastest of its order, and of all.
struct Times {
    double chosen;
    double best_in_order = HUGE_VAL;
    double best = HUGE_VAL;
};

/// A machine and a collective on it.
struct Case {
    Tuner const& tuner;
    Collective collective;
    int ranks;
    bool by_node;  ///< the ranks of each node share memory
};

Times times_of(Case const& on, std::size_t bytes) {
    auto const& [tuner, collective, ranks, by_node] = on;
    Shape const shape{.ranks = ranks, .bytes = bytes, .count = bytes / 4, .by_node = by_node};
    auto const all = algorithms(collective);
    Algorithm const& chosen = tuner.choice(collective, shape, all.front().order != Order::none);
    Times times{chosen.seconds(shape, tuner.model())};
    for (Algorithm const& candidate : all) {
        if (!candidate.applies(shape)) continue;
        // The model takes the ranks of a fold for nearer than they are, in rows that know no nodes.
        bool const folds = !std::has_single_bit(static_cast<unsigned>(ranks));
        if (by_node && folds && candidate.order == Order::tree) continue;
        double const seconds = candidate.seconds(shape, tuner.model());
        times.best = std::min(times.best, seconds);
        if (candidate.order == chosen.order)
            times.best_in_order = std::min(times.best_in_order, seconds);
    }
    return times;
}

/// Whether it has rows for nodes that share memory.
bool knows_nodes(Collective collective) {
    auto const all = algorithms(collective);
    return std::any_of(all.begin(), all.end(), [](Algorithm const& row) {
        return row.applies({.ranks = 4, .by_node = true}) && !row.applies({.ranks = 4});
    });
}

/// Calls use(case) for all machines.
template <class Use>
void on_all_machines(Use use) {
    for (Network const& network : networks)
        for (int const ranks : rank_counts)
            for (int const per_node : per_node_counts)
                for (int i = 0; ranks > per_node && i < collectives_count; ++i)
                    for (bool const by_node : {false, true}) {
                        auto const collective = static_cast<Collective>(i);
                        if (by_node && (per_node == 1 || !knows_nodes(collective))) continue;
                        SCOPED_TRACE(std::string(name(collective)) + " on " +
                                     std::to_string(ranks) + " ranks, " + std::to_string(per_node) +
                                     " per node" + (by_node ? " that share memory, " : ", ") +
                                     network.name);
                        Tuner const tuner(model_of(network, ranks, per_node, by_node), "");
                        use(Case{tuner, collective, ranks, by_node});
                    }
}

constexpr std::size_t largest = std::size_t{1} << 30;

TEST(Cliff, NoChoiceIsFarFromTheBestOfItsOrder) {
    on_all_machines([](Case const& on) {
        for (std::size_t power = 8; power <= largest; power *= 2)
            for (std::size_t const bytes :
                 {power, power + power / 4, power / 2 * 3 - 1, power / 2 * 3, 2 * power - 1}) {
                Times const times = times_of(on, bytes);
                EXPECT_LE(times.chosen, 1.3 * times.best_in_order) << bytes << " bytes";
            }
    });
}

/// No scan knows nodes. One border for all networks fits their many ranks per node badly.
bool is_scan(Collective collective) {
    return collective == Collective::scan || collective == Collective::exscan;
}

// The order is fixed without a measurement, so it costs something on some machines.
TEST(Cliff, NoOrderIsFarFromTheBest) {
    on_all_machines([](Case const& on) {
        double const limit = on.collective == Collective::allreduce ? 2.5
                             : is_scan(on.collective)               ? 9
                                                                    : 4;
        for (std::size_t bytes = 8; bytes <= largest; bytes *= 2) {
            Times const times = times_of(on, bytes);
            EXPECT_LE(times.chosen, limit * times.best) << bytes << " bytes";
        }
    });
}

TEST(Cliff, NoSizeIsSuddenlyDearer) {
    on_all_machines([](Case const& on) {
        double const limit = is_scan(on.collective) ? 2.6 : 1.5;
        double half = times_of(on, 8).chosen;
        for (std::size_t bytes = 16; bytes <= largest; bytes *= 2) {
            double const seconds = times_of(on, bytes).chosen;
            EXPECT_LE(seconds, limit * 2 * half) << bytes << " bytes";
            half = seconds;
        }
    });
}

/// The names of all rows that some machine chooses.
std::set<std::string> chosen_rows(Level const& network_level, int per_node, bool by_node = false) {
    std::set<std::string> rows;
    for (int const ranks : {3, 6, 16, 64, 1000}) {
        Model model = model_of(networks[0], ranks, per_node, by_node);
        model.network = network_level;
        Tuner const tuner(model, "");
        for (int i = 0; i < collectives_count; ++i)
            for (std::size_t bytes = 8; bytes <= largest; bytes *= 4)
                for (bool const order_matters : {true, false}) {
                    Shape const shape{
                        .ranks = ranks, .bytes = bytes, .count = bytes / 4, .by_node = by_node};
                    auto const& row =
                        tuner.choice(static_cast<Collective>(i), shape, order_matters);
                    rows.insert(std::string(name(row.collective)) + " " + std::string(row.name));
                }
    }
    return rows;
}

// A row that no machine chooses is dead, or the model lacks what speaks for it.
TEST(Cliff, EveryRowWinsOnSomeMachine) {
    Level const plain = level_of(25e-6, 0.8e-9);
    Level congested = plain, busy_cards = plain;
    congested.overlap = 1.4;
    busy_cards.gap_per_message = 20e-6;
    std::set<std::string> rows = chosen_rows(plain, 1);
    rows.merge(chosen_rows(congested, 1));
    rows.merge(chosen_rows(busy_cards, 4));
    rows.merge(chosen_rows(plain, 2, true));
    rows.merge(chosen_rows(busy_cards, 2, true));
    rows.merge(chosen_rows(level_of(1.2e-6, 0.02e-9), 16, true));
    for (int i = 0; i < collectives_count; ++i)
        for (Algorithm const& row : algorithms(static_cast<Collective>(i))) {
            bool const is_reference =
                row.suits.starts_with("the reference") || row.name == "shared";
            EXPECT_TRUE(is_reference || rows.contains(std::string(name(row.collective)) + " " +
                                                      std::string(row.name)))
                << name(row.collective) << ' ' << row.name;
        }
}

}  // namespace
}  // namespace sinew::collectives
