// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/refinement.hpp"

#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <sinew/error.hpp>

#include "collectives/tuning/tuners.hpp"

namespace sinew::collectives {
namespace {

Shape shape_of_call(int ranks, std::size_t bytes, bool by_node = false) {
    return {.ranks = ranks, .bytes = bytes, .count = bytes / 4, .by_node = by_node};
}

Model model_on(int ranks, int nodes) {
    Model model;
    model.placement = {.ranks = ranks, .nodes = nodes, .per_node = (ranks + nodes - 1) / nodes};
    return model;
}

/// Makes calls of one kind, which take the given times, until none is timed. Returns how many were.
int make_calls(Refinement& refinement, Collective collective, Shape const& shape,
               std::map<std::string_view, double> const& seconds, double others = 1) {
    int timed = 0;
    for (;; ++timed) {
        auto const trial = refinement.begin(collective, shape, false);
        if (!trial.timed) return timed;
        auto const known = seconds.find(trial.algorithm->name);
        if (refinement.record(known == seconds.end() ? others : known->second))
            refinement.decide(refinement.times());
    }
}

class Refined : public ::testing::Test {
protected:
    Tuner tuner{model_on(8, 8), ""};
    Shape shape = shape_of_call(8, 4096);
    std::vector<Tuner::Expected> all = tuner.alternatives(Collective::allgather, shape, false);
};

TEST_F(Refined, ChoosesWhatIsMeasuredToBeFastest) {
    Refinement refinement(tuner, true, {});
    ASSERT_GT(all.size(), 1U);
    std::string_view const second = all[1].algorithm->name;
    ASSERT_LE(all[1].expected, Refinement::tolerance * all[0].expected);
    EXPECT_GE(make_calls(refinement, Collective::allgather, shape, {{second, 0.5}}), 6);
    EXPECT_EQ(refinement.choice(Collective::allgather, shape, false).name, second);
    EXPECT_EQ(refinement.begin(Collective::allgather, shape, false).algorithm->name, second);
    // Another size has trials of its own.
    EXPECT_TRUE(refinement.begin(Collective::allgather, shape_of_call(8, 64), false).timed);
}

TEST_F(Refined, KeepsTheModelsChoiceUnlessAnotherIsClearlyFaster) {
    Refinement refinement(tuner, true, {});
    make_calls(refinement, Collective::allgather, shape, {{all[1].algorithm->name, 0.97}});
    EXPECT_EQ(&refinement.choice(Collective::allgather, shape, false), all[0].algorithm);
}

TEST_F(Refined, DoesNotCountTheFirstCalls) {
    Refinement refinement(tuner, true, {});
    std::map<Algorithm const*, int> calls;
    for (;;) {
        auto const trial = refinement.begin(Collective::allgather, shape, false);
        if (!trial.timed) break;
        if (refinement.record(calls[trial.algorithm]++ == 0 ? 1e-9 : 1)) {
            for (double const seconds : refinement.times()) EXPECT_EQ(seconds, 1);
            refinement.decide(refinement.times());
        }
    }
    EXPECT_LE(calls.size(), Refinement::most_candidates);
}

TEST_F(Refined, SaysWhatWasMeasured) {
    Refinement refinement(tuner, true, {});
    EXPECT_EQ(refinement.explain(Collective::allgather), "");
    refinement.begin(Collective::allgather, shape, false);
    EXPECT_NE(refinement.explain(Collective::allgather).find("0 of "), std::string::npos);
    make_calls(refinement, Collective::allgather, shape, {{all[1].algorithm->name, 0.25}});
    std::string const said = refinement.explain(Collective::allgather);
    EXPECT_NE(said.find("4096 to 6143 bytes: " + std::string(all[1].algorithm->name) + " is used"),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("250000.0 us"), std::string::npos) << said;
    EXPECT_EQ(refinement.explain(Collective::allreduce), "");
}

TEST_F(Refined, TellsWhatShallBeKept) {
    Refinement refinement(tuner, true, {});
    TunedTable kept;
    refinement.keep = [&](auto const& kind, auto const& algorithm) { kept.set(kind, algorithm); };
    make_calls(refinement, Collective::allgather, shape, {{all[1].algorithm->name, 0.5}});
    ASSERT_EQ(kept.size(), 1U);
    Refinement next(tuner, false, kept);
    EXPECT_NE(next.explain(Collective::allgather).find("an earlier job"), std::string::npos);
    EXPECT_FALSE(next.begin(Collective::allgather, shape, false).timed);
    EXPECT_EQ(&next.choice(Collective::allgather, shape, false), all[1].algorithm);
    EXPECT_NE(next.explain(Collective::allgather).find("an earlier job"), std::string::npos);
    EXPECT_EQ(&next.choice(Collective::allgather, shape_of_call(8, 64), false),
              &tuner.choice(Collective::allgather, shape_of_call(8, 64), false));
}

// Whatever is measured, and whatever a file says.
TEST(Refinement, NeverChangesTheOrderOfASum) {
    for (auto const& [ranks, nodes] : {std::pair{3, 1}, {4, 4}, {6, 2}, {8, 8}, {12, 3}, {64, 8}})
        for (bool const by_node : {false, true}) {
            if (by_node && (nodes == 1 || nodes == ranks)) continue;
            Tuner const tuner(model_on(ranks, nodes), "");
            for (int i = 0; i < collectives_count; ++i)
                for (std::size_t bytes = 8; bytes <= std::size_t{1} << 28; bytes *= 4) {
                    auto const collective = static_cast<Collective>(i);
                    Shape const shape = shape_of_call(ranks, bytes, by_node);
                    Order const order = tuner.choice(collective, shape, true).order;
                    for (Algorithm const& any : algorithms(collective)) {
                        TunedTable foreign;
                        foreign.set(Tuner::kind_of(collective, shape, true), any);
                        Refinement told(tuner, true, foreign);
                        EXPECT_EQ(told.choice(collective, shape, true).order, order);
                        EXPECT_TRUE(told.choice(collective, shape, true).applies(shape));
                    }
                    Refinement measured(tuner, true, {});
                    for (int call = 0; call < 40; ++call) {
                        auto const trial = measured.begin(collective, shape, true);
                        EXPECT_EQ(trial.algorithm->order, order);
                        EXPECT_TRUE(trial.algorithm->applies(shape));
                        if (!trial.timed) break;
                        if (measured.record(1.0 / (call + 1))) measured.decide(measured.times());
                    }
                }
        }
}

TEST(Refinement, LeavesAloneWhatIsForcedOrInMemory) {
    Tuner const forced(model_on(8, 8), "allreduce:tree,allgather:linear");
    Refinement refinement(forced, true, {});
    for (Collective const collective : {Collective::allreduce, Collective::allgather})
        EXPECT_FALSE(refinement.begin(collective, shape_of_call(8, 4096), false).timed);
    Tuner const tuner(model_on(8, 1), "");
    Shape shared = shape_of_call(8, 4096);
    shared.shared = true;
    EXPECT_EQ(tuner.alternatives(Collective::allreduce, shared, true).size(), 1U);
    Tuner const alone(model_on(1, 1), "");
    Refinement of_one(alone, true, {});
    EXPECT_FALSE(of_one.begin(Collective::allgather, shape_of_call(1, 4096), false).timed);
}

TEST(Tuners, CorrectOnlyWhatTheyWereToldTo) {
    using Tuning = Tuners::Tuning;
    Placement const here{.ranks = 8, .nodes = 8, .per_node = 1};
    Tuner const tuner(model_on(8, 8), "");
    EXPECT_EQ(Tuners(Model(), "").refinement(tuner), nullptr);
    Shape const shape = shape_of_call(8, 4096);
    auto const all = tuner.alternatives(Collective::allgather, shape, false);
    TunedTable known;
    known.set(Tuner::kind_of(Collective::allgather, shape, false), *all.back().algorithm);
    Tuners const cached(Model(), "", Tuning{Tuning::Mode::cache, known, here});
    EXPECT_EQ(&cached.refinement(tuner)->choice(Collective::allgather, shape, false),
              all.back().algorithm);
    // Ranks that lie otherwise are not those that were measured.
    Tuner const other(model_on(8, 4), "");
    EXPECT_EQ(&cached.refinement(other)->choice(Collective::allgather, shape, false),
              &other.choice(Collective::allgather, shape, false));
    EXPECT_FALSE(cached.refinement(other)->begin(Collective::allgather, shape, false).timed);
}

TEST(TunedTable, GivesBackWhatItWasGiven) {
    TunedTable table;
    for (int i = 0; i < collectives_count; ++i)
        for (Algorithm const& algorithm : algorithms(static_cast<Collective>(i)))
            for (std::size_t bytes = 1; bytes < 4096; bytes *= 2)
                table.set(Tuner::kind_of(static_cast<Collective>(i), shape_of_call(8, bytes), true),
                          algorithm);
    EXPECT_GT(table.size(), 100U);
    EXPECT_EQ(TunedTable::from_text(table.to_text()), table);
    EXPECT_EQ(TunedTable::from_text(""), TunedTable());
}

TEST(TunedTable, RefusesWhatItDidNotWrite) {
    for (char const* wrong :
         {"allreduce 0 1 20 ring", "allreduce 0 1 20 rong\n", "allreduce 2 1 20 ring\n",
          "allreduce 0 4 20 ring\n", "allreduce 0 1 128 ring\n", "allreduce 0 1 -1 ring\n",
          "allreduce 0 01 20 ring\n", "allreduce 0 1 20  ring\n", "allreduce 0 1 20 ring \n",
          "alreduce 0 1 20 ring\n", "\n", "allreduce 0 1 20 ring\nallreduce 0 1 19 ring\n",
          "allreduce 0 1 20 ring\nallreduce 0 1 20 tree\n", "allgather 0 0 20 rabenseifner\n"})
        EXPECT_THROW(TunedTable::from_text(wrong), UsageError) << wrong;
}

TEST(Tuner, KnowsTheSizesOfABucket) {
    for (std::size_t bytes : {0UL, 1UL, 2UL, 3UL, 4UL, 5UL, 6UL, 1023UL, 4096UL, 6143UL, 6144UL}) {
        auto const kind = Tuner::kind_of(Collective::allgather, shape_of_call(2, bytes), false);
        auto const [from, to] = Tuner::sizes_of(kind.bucket);
        EXPECT_LE(from, bytes);
        EXPECT_GE(to, bytes);
        EXPECT_EQ(Tuner::kind_of(Collective::allgather, shape_of_call(2, to), false).bucket,
                  kind.bucket);
    }
}

}  // namespace
}  // namespace sinew::collectives
