// SPDX-License-Identifier: Apache-2.0
// The tuner relies on this: algorithms with the same order give the same bits for every root,
// segment size and rank. The inputs are chosen such that almost any other order gives other bits.
#include <bit>
#include <cmath>
#include <map>
#include <mutex>
#include <set>

#include "tests/collectives/trial.hpp"

namespace sinew::collectives::testing {
namespace {

constexpr std::size_t count = 1003;
using Floats = std::vector<float>;
/// The final values of each rank.
using Results = std::vector<Floats>;

float input(int rank, std::size_t i) {
    std::uint32_t const random = bits(rank, i);
    float const mantissa = static_cast<float>(random >> 8) * 0x1p-23F - 1;
    return std::ldexp(mantissa, static_cast<int>(random % 8));
}

Floats inputs(int rank) {
    Floats values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(input(rank, i));
    return values;
}

Floats sum_of(Floats a, Floats const& b) {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
    return a;
}

std::vector<Floats> inputs_of_all(int ranks) {
    std::vector<Floats> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(inputs(rank));
    return all;
}

/// ((0+1)+2)+3...
Floats linear_sum(int ranks) {
    Floats sum = inputs(0);
    for (int rank = 1; rank < ranks; ++rank) sum = sum_of(std::move(sum), inputs(rank));
    return sum;
}

/// Combines pairs until a power of two is left, then in a balanced tree.
Floats tree_sum(std::vector<Floats> const& all) {
    std::size_t const power = std::bit_floor(all.size());
    std::vector<Floats> parts;
    for (std::size_t i = 0; i < all.size(); ++i) {
        parts.push_back(all[i]);
        if (i / 2 < all.size() - power && i % 2 == 0) parts.back() = sum_of(parts.back(), all[++i]);
    }
    for (; parts.size() > 1; parts.resize(parts.size() / 2))
        for (std::size_t i = 0; i < parts.size() / 2; ++i)
            parts[i] = sum_of(parts[2 * i], parts[2 * i + 1]);
    return parts[0];
}
Floats tree_sum(int ranks) { return tree_sum(inputs_of_all(ranks)); }

/// The sums of the nodes of run_ranks, each in the order of its ranks.
std::vector<Floats> node_sums(int ranks) {
    std::vector<int> const node_of = sinew::testing::nodes_of_ranks(ranks);
    std::vector<Floats> sums;
    for (int rank = 0; rank < ranks; ++rank) {
        auto const node = static_cast<std::size_t>(node_of[static_cast<std::size_t>(rank)]);
        if (node == sums.size()) sums.push_back(inputs(rank));
        else sums[node] = sum_of(sums[node], inputs(rank));
    }
    return sums;
}

/// Start of rank r's part of a scattered sum.
std::size_t part_begin(int rank, int ranks) {
    return count * static_cast<std::size_t>(rank) / static_cast<std::size_t>(ranks);
}

Layout parts(int ranks) {
    Layout layout{{}, {}, count};
    for (int rank = 0; rank < ranks; ++rank) {
        layout.offsets.push_back(part_begin(rank, ranks));
        layout.counts.push_back(part_begin(rank + 1, ranks) - layout.offsets.back());
    }
    return layout;
}

Results run(Algorithm const& algorithm, int ranks, int root, Pace pace) {
    Results results(static_cast<std::size_t>(ranks));
    Layout const layout = parts(ranks);
    run_ranks(ranks, [&](Channel& channel) {
        int const rank = channel.rank();
        bool const scatters = algorithm.collective == Collective::reduce_scatter;
        Floats in = inputs(rank), out(scatters ? layout.count(rank) : count);
        Scratch scratch;
        Reducer const reducer(sum, DataType::Kind::f32);
        Arguments call = arguments(scratch, pace, sizeof(float));
        call.in = bytes_of(in);
        call.out = bytes_of(out);
        call.count = count;
        call.root = root;
        call.reduce = &reducer;
        if (scatters) call.blocks = layout.blocks(sizeof(float));
        algorithm.run(channel, call);
        bool const has_result = algorithm.collective != Collective::reduce || rank == root;
        if (has_result) results[static_cast<std::size_t>(rank)] = std::move(out);
    });
    return results;
}

bool same_bits(Floats const& a, Floats const& b) {
    return a.size() == b.size() &&
           (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

/// Calls use(algorithm, ranks, root, results) for every way to execute the collective.
template <class Use>
void for_all_runs(Collective collective, Use use) {
    for (int ranks = 1; ranks <= 9; ++ranks)
        for (Algorithm const& algorithm : algorithms(collective)) {
            if (!algorithm.applies(shape_of(ranks))) continue;
            for (Pace const pace : paces)
                for (int root = 0; root < (collective == Collective::reduce ? ranks : 1); ++root) {
                    SCOPED_TRACE(text(algorithm.name, " of ", name(collective), " on ", ranks,
                                      " ranks, root ", root, ", segment ", pace.segment));
                    use(algorithm, ranks, root, run(algorithm, ranks, root, pace));
                }
        }
}

/// The sum in this order; for the ring, the result of its first run.
class Expected {
public:
    Floats const& operator()(Order order, int ranks, Floats const& first) {
        auto const [entry, fresh] = known_.try_emplace({order, ranks}, first);
        if (fresh && order == Order::linear) entry->second = linear_sum(ranks);
        if (fresh && order == Order::tree) entry->second = tree_sum(ranks);
        if (fresh && order == Order::nodes_tree) entry->second = tree_sum(node_sums(ranks));
        return entry->second;
    }

private:
    std::map<std::pair<Order, int>, Floats> known_;
};

TEST(Order, OfAllreduceIsAsStatedAndTheSameOnAllRanks) {
    Expected expected;
    for_all_runs(Collective::allreduce, [&](auto const& algorithm, int ranks, int, auto results) {
        for (Floats const& result : results)
            EXPECT_TRUE(same_bits(result, expected(algorithm.order, ranks, result)));
    });
}

TEST(Order, OfReduceIsAsStatedForEveryRoot) {
    Expected expected;
    for_all_runs(Collective::reduce, [&](auto const& algorithm, int ranks, int root, auto results) {
        Floats const& result = results[static_cast<std::size_t>(root)];
        EXPECT_TRUE(same_bits(result, expected(algorithm.order, ranks, result)));
    });
}

TEST(Order, OfReduceScatterIsAsStated) {
    Expected expected;
    for_all_runs(Collective::reduce_scatter,
                 [&](auto const& algorithm, int ranks, int, auto results) {
                     Floats all;
                     for (Floats const& part : results)
                         all.insert(all.end(), part.begin(), part.end());
                     EXPECT_TRUE(same_bits(all, expected(algorithm.order, ranks, all)));
                 });
}

TEST(Order, OfScanIsRankAfterRankInTheLinearOne) {
    for_all_runs(Collective::scan, [&](auto const& algorithm, int ranks, int, auto results) {
        if (algorithm.order != Order::linear) return;
        for (int rank = 0; rank < ranks; ++rank)
            EXPECT_TRUE(same_bits(results[static_cast<std::size_t>(rank)], linear_sum(rank + 1)));
    });
}

// Neighbors first: with a power of two, the last rank has the whole balanced tree.
TEST(Order, OfScanIsATreeInTheOther) {
    for_all_runs(Collective::scan, [&](auto const& algorithm, int ranks, int, auto results) {
        if (algorithm.order != Order::tree) return;
        for (int last = 1; last <= ranks; last *= 2)
            EXPECT_TRUE(same_bits(results[static_cast<std::size_t>(last - 1)], tree_sum(last)));
    });
}

TEST(Order, OfExscanIsThatOfScan) {
    for_all_runs(Collective::exscan, [&](auto const& algorithm, int ranks, int, auto results) {
        Results const scanned =
            run(find_algorithm(Collective::scan, algorithm.name), ranks, 0, paces[0]);
        for (std::size_t rank = 1; rank < results.size(); ++rank)
            EXPECT_TRUE(same_bits(results[rank], scanned[rank - 1]));
    });
}

/// The sums of the nodes' sums from each node on.
std::vector<Floats> node_sums_from_each(int ranks) {
    std::vector<Floats> const sums = node_sums(ranks);
    std::vector<Floats> from;
    for (std::size_t first = 0; first < sums.size(); ++first) {
        from.push_back(sums[first]);
        for (std::size_t step = 1; step < sums.size(); ++step)
            from.back() = sum_of(from.back(), sums[(first + step) % sums.size()]);
    }
    return from;
}

// Every element of the ring of nodes is the sum of the nodes' sums from some node on.
TEST(Order, OfLanesBeginsAtSomeNodeForEachElement) {
    for_all_runs(Collective::allreduce, [&](auto const& algorithm, int ranks, int, auto results) {
        if (algorithm.order != Order::nodes_ring) return;
        std::vector<Floats> const from = node_sums_from_each(ranks);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < count; ++i)
            wrong += std::ranges::none_of(
                         from, [&](Floats const& one) { return one[i] == results[0][i]; })
                         ? 1
                         : 0;
        EXPECT_EQ(wrong, 0u);
    });
}

TEST(Order, OfLanesThatScatterBeginsAfterTheNodeOfTheOwner) {
    for_all_runs(Collective::reduce_scatter, [&](auto const& algorithm, int ranks, int,
                                                 auto results) {
        if (algorithm.order != Order::nodes_ring) return;
        std::vector<Floats> const from = node_sums_from_each(ranks);
        std::vector<int> const node_of = sinew::testing::nodes_of_ranks(ranks);
        for (int rank = 0; rank < ranks; ++rank) {
            auto const node = static_cast<std::size_t>(node_of[static_cast<std::size_t>(rank)]);
            Floats const& whole = from[(node + 1) % from.size()];
            auto const begin = whole.begin() + static_cast<long>(part_begin(rank, ranks));
            Floats const& part = results[static_cast<std::size_t>(rank)];
            EXPECT_TRUE(same_bits(part, {begin, begin + static_cast<long>(part.size())})) << rank;
        }
    });
}

// If these sums were equal, the tests above would prove nothing.
TEST(Order, ShowsInTheBitsOfTheseInputs) {
    EXPECT_FALSE(same_bits(tree_sum(4), linear_sum(4)));
    EXPECT_FALSE(same_bits(tree_sum(7), linear_sum(7)));
    EXPECT_TRUE(same_bits(tree_sum(3), linear_sum(3)));
}

}  // namespace
}  // namespace sinew::collectives::testing
