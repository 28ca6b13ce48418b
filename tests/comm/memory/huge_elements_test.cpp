// SPDX-License-Identifier: Apache-2.0
// Elements about as large as the blocks in which memory passes them, or larger.
#include <sinew/thread_ranks.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <sinew/communicator.hpp>

namespace sinew {
namespace {

template <std::size_t kib>
struct Huge {
    std::array<std::uint32_t, kib * 256> values;
};

template <std::size_t kib>
std::vector<Huge<kib>> elements(std::uint32_t first, std::size_t count) {
    std::vector<Huge<kib>> all(count);
    for (std::size_t e = 0; e < count; ++e)
        for (std::size_t i = 0; i < all[e].values.size(); ++i)
            all[e].values[i] = first + static_cast<std::uint32_t>(e + i);
    return all;
}

template <std::size_t kib>
void expect_sums(std::vector<Huge<kib>> const& got, std::uint32_t ranks, std::uint32_t firsts) {
    for (std::size_t e = 0; e < got.size(); ++e)
        for (std::size_t i = 0; i < got[e].values.size(); ++i)
            ASSERT_EQ(got[e].values[i], firsts + ranks * static_cast<std::uint32_t>(e + i));
}

template <std::size_t kib>
void reduce_all_ways(int ranks) {
    run_thread_ranks({.ranks = ranks}, [](Communicator& comm) {
        using Element = Huge<kib>;
        ReduceOp const add = reduce_op<Element>([](Element const& a, Element const& b) {
            Element sum = a;
            for (std::size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += b.values[i];
            return sum;
        });
        auto const n = static_cast<std::uint32_t>(comm.size());
        std::uint32_t const all = n * (n - 1) / 2, self = static_cast<std::uint32_t>(comm.rank());
        auto const in = elements<kib>(self, 3);
        std::vector<Element> out(3);
        comm.allreduce(in, out, add);
        expect_sums(out, n, all);
        comm.reduce(in, out, add, comm.size() - 1);
        if (comm.rank() == comm.size() - 1) expect_sums(out, n, all);
        comm.scan(in, out, add);
        expect_sums(out, self + 1, self * (self + 1) / 2);
        auto const long_in = elements<kib>(self, 2 * n);
        std::vector<Element> block(2);
        comm.reduce_scatter_block(long_in, block, add);
        expect_sums(block, n, all + n * 2 * self);
    });
}

TEST(HugeElements, AreReducedHoweverLargeTheyAre) {
    for (int const ranks : {2, 3}) {
        reduce_all_ways<100>(ranks);
        reduce_all_ways<200>(ranks);
        reduce_all_ways<256>(ranks);
        reduce_all_ways<300>(ranks);  // larger than a block
    }
}

}  // namespace
}  // namespace sinew
