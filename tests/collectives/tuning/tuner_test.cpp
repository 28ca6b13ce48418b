// SPDX-License-Identifier: Apache-2.0
#include "collectives/tuning/tuner.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include <sinew/error.hpp>

namespace sinew::collectives {
namespace {

using C = Collective;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t kib = 1024;

Shape shape(int ranks, std::size_t bytes, bool commutative = true) {
    return {.ranks = ranks, .bytes = bytes, .count = bytes / 4, .commutative = commutative};
}

/// The text of the UsageError for this forced choice.
std::string refusal(std::string const& forced) {
    try {
        Tuner const tuner(Model(), forced);
    } catch (UsageError const& error) {
        return error.what();
    }
    ADD_FAILURE() << forced << " is not refused";
    return {};
}

/// Machine models of all kinds, realistic or not.
std::vector<Model> models() {
    std::vector<Model> all{Model()};
    std::minstd_rand random;
    std::uniform_real_distribution<double> exponent(-9, -2);
    for (int i = 0; i < 40; ++i) {
        Level level;
        for (double& seconds : level.seconds) seconds = std::pow(10, exponent(random));
        level.segment = std::size_t{512} << (i % 10);
        level.window = 1 + i % 20;
        Model model(level);
        model.reduce_per_byte = std::pow(10, exponent(random) - 4);
        all.push_back(model);
    }
    return all;
}

/// The model seen by ranks on one node, or on a node each.
Model seen(Model const& model, int ranks, bool across_nodes) {
    return model.seen_by(
        {.ranks = ranks, .nodes = across_nodes ? ranks : 1, .per_node = across_nodes ? 1 : ranks});
}

constexpr C reducing[] = {C::allreduce, C::reduce, C::reduce_scatter, C::reduce_scatter_block,
                          C::scan,      C::exscan};

TEST(Tuner, TakesWhatIsForced) {
    Tuner tuner(seen(Model(), 4, false), "allreduce:tree,broadcast:chain");
    for (std::size_t bytes : {std::size_t{8}, 100 * kib, 100000 * kib}) {
        EXPECT_EQ(tuner.choose(C::allreduce, shape(4, bytes), true).name, "tree");
        EXPECT_EQ(tuner.choose(C::broadcast, shape(4, bytes), false).name, "chain");
    }
}

TEST(Tuner, ChoosesItselfWhereTheForcedOneDoesNotApply) {
    Tuner tuner(seen(Model(), 4, false), "allreduce:ring");
    EXPECT_EQ(tuner.choose(C::allreduce, shape(4, 8), true).name, "ring");
    EXPECT_NE(tuner.choose(C::allreduce, shape(4, 8, false), true).name, "ring");
}

TEST(Tuner, NamesWhatCannotBeForced) {
    EXPECT_THAT(refusal("allreduce"),
                AllOf(HasSubstr("\"allreduce\""), HasSubstr("expected collective:algorithm")));
    EXPECT_THAT(refusal("allreduce:ring,,"), HasSubstr("\"\" in \"allreduce:ring,,\""));
    EXPECT_THAT(refusal("allreduce:rong"),
                AllOf(HasSubstr("rong"), HasSubstr("recursive_doubling")));
    EXPECT_THAT(refusal("all_reduce:ring"),
                AllOf(HasSubstr("\"all_reduce\""), HasSubstr("not a collective")));
    EXPECT_THAT(refusal(":"), HasSubstr("not a collective"));
}

TEST(Tuner, KeepsToOneOrderWhateverTheModelSays) {
    for (bool const across_nodes : {false, true})
        for (C const collective : reducing)
            for (int const ranks : {3, 4, 7, 16})
                for (bool const commutative : {true, false})
                    for (std::size_t bytes = 1; bytes < 100000 * kib; bytes = bytes * 3 + 1) {
                        std::set<Order> orders;
                        for (Model const& model : models())
                            orders.insert(
                                Tuner(seen(model, ranks, across_nodes), "")
                                    .choose(collective, shape(ranks, bytes, commutative), true)
                                    .order);
                        EXPECT_EQ(orders.size(), 1U)
                            << name(collective) << ' ' << ranks << ' ' << bytes;
                    }
}

// Earlier questions must not matter, since ranks may have different histories.
TEST(Tuner, ChoosesTheSameWhateverItWasAskedBefore) {
    for (Model const& model : models()) {
        Tuner upwards(seen(model, 5, true), ""), downwards(seen(model, 5, true), "");
        std::map<std::size_t, std::string_view> chosen;
        std::vector<std::size_t> sizes;
        for (std::size_t bytes = 1; bytes < 100000 * kib; bytes += 1 + bytes / 5)
            sizes.push_back(bytes);
        for (std::size_t const bytes : sizes)
            chosen[bytes] = upwards.choose(C::allreduce, shape(5, bytes), true).name;
        for (auto bytes = sizes.rbegin(); bytes != sizes.rend(); ++bytes)
            ASSERT_EQ(downwards.choose(C::allreduce, shape(5, *bytes), true).name, chosen[*bytes])
                << *bytes;
    }
}

TEST(Tuner, BeginsTheRingExactlyAtItsBorder) {
    for (bool const across_nodes : {false, true}) {
        Tuner tuner(seen(Model(), 4, across_nodes), "");
        std::size_t const border = Tuner::ring_border(4, across_nodes ? 4 : 1);
        EXPECT_EQ(tuner.choose(C::allreduce, shape(4, border - 4), true).order, Order::tree);
        EXPECT_EQ(tuner.choose(C::allreduce, shape(4, border), true).order, Order::ring);
        EXPECT_EQ(tuner.choose(C::allreduce, shape(4, border, false), true).order, Order::tree);
    }
}

TEST(Tuner, BeginsTheRingLaterOnMoreRanks) {
    EXPECT_EQ(Tuner::ring_border(4, 4), 256 * kib);
    EXPECT_EQ(Tuner::ring_border(64, 64), 2048 * kib);
    EXPECT_EQ(Tuner::ring_border(1024, 1024), 32768 * kib);
    // The others send the whole vector twice more.
    EXPECT_EQ(Tuner::ring_border(3, 3), 48 * kib);
    EXPECT_EQ(Tuner::ring_border(48, 48), 768 * kib);
    EXPECT_EQ(Tuner::ring_border(47, 47), 768 * kib);
    // Within a node that is cheap.
    EXPECT_EQ(Tuner::ring_border(12, 6), 256 * kib);
    // Two nodes of several ranks have no ring at all.
    EXPECT_GT(Tuner::ring_border(8, 2), std::size_t{1} << 50);
    Tuner tuner(seen(Model(), 1024, true), "");
    EXPECT_EQ(tuner.choose(C::allreduce, shape(1024, 1024 * kib), true).order, Order::tree);
}

TEST(Tuner, PassesLongScansFromRankToRank) {
    for (C const collective : {C::scan, C::exscan})
        for (int const ranks : {3, 8, 100, 1000}) {
            Tuner tuner(seen(Model(), ranks, true), "");
            std::size_t const border = Tuner::scan_border(ranks, ranks);
            EXPECT_LE(border, std::size_t{8192} * kib);
            EXPECT_EQ(tuner.choose(collective, shape(ranks, border - 1), true).order, Order::tree);
            EXPECT_EQ(tuner.choose(collective, shape(ranks, border), true).order, Order::linear);
            EXPECT_EQ(tuner.choose(collective, shape(ranks, border, false), true).order,
                      Order::linear);
        }
}

// The function of a user may commute but for the last bit, as products of complex numbers do.
TEST(Tuner, KeepsToOneOrderOfUserOperationsOnTwoRanks) {
    for (bool const across_nodes : {false, true})
        for (C const collective : reducing)
            for (std::size_t bytes = 1; bytes < 100000 * kib; bytes = bytes * 3 + 1) {
                Shape wanted = shape(2, bytes);
                wanted.symmetric = false;
                std::set<Order> orders;
                for (Model const& model : models())
                    orders.insert(Tuner(seen(model, 2, across_nodes), "")
                                      .choose(collective, wanted, true)
                                      .order);
                EXPECT_EQ(orders.size(), 1U) << name(collective) << ' ' << bytes;
            }
}

TEST(Tuner, DoesNotMixOperationsOfDifferentFreedom) {
    Shape const commuting = shape(2, 1024 * kib), in_rank_order = shape(2, 1024 * kib, false);
    Shape of_user = commuting;
    of_user.symmetric = false;
    for (Model const& model : models()) {
        Tuner const fresh(seen(model, 2, false), "");
        Tuner tuner(seen(model, 2, false), "");
        for (bool const order_matters : {true, false})
            for (Shape const& asked : {commuting, of_user, in_rank_order, commuting})
                EXPECT_EQ(&tuner.choose(C::allreduce, asked, order_matters),
                          &fresh.choice(C::allreduce, asked, order_matters));
    }
}

// Communicators with and without a room of memory share a tuner.
TEST(Tuner, DoesNotTakeWhatItChoseOverMemoryForOthers) {
    Shape const plain = shape(4, 64 * kib, false);
    Shape over_memory = plain;
    over_memory.shared = true;
    for (char const* const forced : {"", "allreduce:ring"}) {  // which does not apply
        Tuner tuner(seen(Model(), 4, false), forced);
        EXPECT_EQ(tuner.choose(C::allreduce, over_memory, true).name, "shared");
        EXPECT_TRUE(tuner.choose(C::allreduce, plain, true).applies(plain));
        EXPECT_EQ(tuner.choose(C::allreduce, over_memory, true).name, "shared");
    }
}

TEST(Tuner, ChoosesOnlyWhatApplies) {
    for (Model const& model : models())
        for (int i = 0; i < collectives_count; ++i)
            for (int const ranks : {1, 2, 3, 6, 8})
                for (std::size_t const bytes :
                     {std::size_t{0}, std::size_t{1}, 64 * kib, std::size_t{1} << 40})
                    for (bool const commutative : {true, false}) {
                        Tuner tuner(seen(model, ranks, false), "");
                        Shape const wanted = shape(ranks, bytes, commutative);
                        EXPECT_TRUE(
                            tuner.choose(static_cast<C>(i), wanted, !commutative).applies(wanted));
                    }
}

TEST(Tuner, ExplainsTheChoiceOfWhatDoesNotReduce) {
    Tuner const tuner(seen(Model(), 16, true), "");
    std::string_view const chosen = tuner.choice(C::broadcast, shape(16, 33554432), false).name;
    EXPECT_NE(chosen, "linear");
    EXPECT_THAT(tuner.explain(C::broadcast, {.ranks = 16}),
                ::testing::ContainsRegex("\n +33554432  " + std::string(chosen)));
}

TEST(Tuner, ExplainsItsChoices) {
    for (int i = 0; i < collectives_count; ++i) {
        auto const collective = static_cast<C>(i);
        std::string const table =
            Tuner(seen(Model(), 4, false), "").explain(collective, {.ranks = 4});
        EXPECT_THAT(table, AllOf(HasSubstr(std::string(name(collective)) + " on 4 ranks"),
                                 HasSubstr("33554432")));
        for (Algorithm const& algorithm : algorithms(collective))
            EXPECT_THAT(table, HasSubstr(std::string(algorithm.name) + ": " +
                                         std::string(algorithm.suits)));
    }
    EXPECT_THAT(
        Tuner(seen(Model(), 4, false), "allreduce:tree").explain(C::allreduce, {.ranks = 4}),
        ::testing::ContainsRegex("\n +33554432  tree"));
}

}  // namespace
}  // namespace sinew::collectives
