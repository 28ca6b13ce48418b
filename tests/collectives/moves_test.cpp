// SPDX-License-Identifier: Apache-2.0
// Tests every algorithm of the catalogue that only moves data, byte for byte.
#include <array>
#include <atomic>
#include <set>

#include "tests/collectives/trial.hpp"

namespace sinew::collectives::testing {
namespace {

/// An element whose size is not a power of two.
using Element = std::array<std::uint8_t, 3>;
using Elements = std::vector<Element>;

Element element(int from, std::size_t i) {
    std::uint32_t const value = bits(from, i);
    return {static_cast<std::uint8_t>(value), static_cast<std::uint8_t>(value >> 8),
            static_cast<std::uint8_t>(value >> 16)};
}

/// Fills block `block` of a buffer with what rank `from` sends as its block `number`.
void fill(Elements& buffer, Layout const& layout, int block, int from, int number = 0) {
    for (std::size_t i = 0; i < layout.count(block); ++i)
        buffer[layout.offset(block) + i] =
            element(from, i + 10000 * static_cast<std::size_t>(number));
}

/// The number of elements that `from` sends to `to` in an alltoallv.
std::size_t sent_count(int from, int to, std::size_t count) {
    auto const mix = static_cast<std::size_t>(3 * from + 2 * to);
    return mix % 5 == 0 ? 0 : count * (mix % 7 + 1) / 8;
}

/// The call of one rank.
class Call {
public:
    Call(Channel& channel, Algorithm const& algorithm, Pace pace)
        : channel_(channel), algorithm_(algorithm), rank_(channel.rank()), ranks_(channel.size()),
          call_(arguments(scratch_, pace, sizeof(Element))) {}

    void allgather(Layout const& layout, bool listed) {
        Elements out = untouched<Element>(layout.extent + 1);
        Elements wanted = out;
        fill(out, layout, rank_, rank_);
        for (int rank = 0; rank < ranks_; ++rank) fill(wanted, layout, rank, rank);
        call_.out = bytes_of(out);
        run(layout, listed);
        expect_same(out, wanted);
    }
    void broadcast(std::size_t count, int root) {
        Layout const layout = Layout::equal(1, count);
        Elements out = untouched<Element>(count + 1);
        Elements wanted = out;
        if (rank_ == root) fill(out, layout, 0, root);
        fill(wanted, layout, 0, root);
        call_.out = bytes_of(out);
        call_.count = count;
        call_.root = root;
        run();
        expect_same(out, wanted);
    }
    void gather(Layout const& layout, bool listed, int root) {
        Elements whole = untouched<Element>(layout.extent + 1), wanted = whole, part = own(layout);
        fill(whole, layout, rank_, rank_);
        for (int rank = 0; rank < ranks_; ++rank) fill(wanted, layout, rank, rank);
        Elements const part_before = part;
        if (rank_ == root) call_.out = bytes_of(whole);
        else call_.in = bytes_of(part);
        run_rooted(layout, listed, root);
        if (rank_ == root) expect_same(whole, wanted);
        expect_same(part, part_before);
    }
    void scatter(Layout const& layout, bool listed, int root) {
        Elements whole = untouched<Element>(layout.extent + 1);
        Elements part = untouched<Element>(layout.count(rank_) + 1);
        for (int rank = 0; rank < ranks_; ++rank) fill(whole, layout, rank, rank);
        Elements const whole_before = whole;
        if (rank_ == root) call_.in = bytes_of(whole);
        else call_.out = bytes_of(part);
        run_rooted(layout, listed, root);
        if (rank_ != root) expect_same(part, own(layout));
        expect_same(whole, whole_before);
    }
    void alltoall(Layout const& sent, Layout const& received, bool listed) {
        Elements in = untouched<Element>(sent.extent + 1);
        Elements out = untouched<Element>(received.extent + 1), wanted = out;
        for (int rank = 0; rank < ranks_; ++rank) {
            fill(in, sent, rank, rank_, rank);
            fill(wanted, received, rank, rank, rank_);
        }
        Elements const in_before = in;
        call_.in = bytes_of(in);
        call_.out = bytes_of(out);
        call_.sent =
            listed ? sent.blocks(sizeof(Element)) : Blocks::equal(sent.count(0), sizeof(Element));
        run(received, listed);
        expect_same(out, wanted);
        expect_same(in, in_before);
    }
    void barrier() { run(); }

private:
    /// A buffer for this rank's block.
    Elements own(Layout const& layout) const {
        Elements part = untouched<Element>(layout.count(rank_) + 1);
        fill(part, Layout::equal(1, layout.count(rank_)), 0, rank_);
        return part;
    }
    void run_rooted(Layout const& layout, bool listed, int root) {
        call_.root = root;
        call_.count = layout.count(rank_);
        if (!listed || rank_ == root) return run(layout, listed);
        call_.blocks = {};  // only the root knows them
        run();
    }
    void run(Layout const& layout, bool listed) {
        call_.count = layout.count(rank_);
        call_.blocks = listed ? layout.blocks(sizeof(Element))
                              : Blocks::equal(layout.count(0), sizeof(Element));
        run();
    }
    void run() {
        algorithm_.run(channel_, call_);
        scratch_.release();
    }

    Channel& channel_;
    Algorithm const& algorithm_;
    int rank_;
    int ranks_;
    Scratch scratch_;
    Arguments call_;
};

Layout received_layout(int rank, int ranks, std::size_t count) {
    std::vector<std::size_t> counts;
    for (int from = 0; from < ranks; ++from) counts.push_back(sent_count(from, rank, count));
    return Layout::ragged(std::move(counts));
}

Layout sent_layout(int rank, int ranks, std::size_t count) {
    std::vector<std::size_t> counts;
    for (int to = 0; to < ranks; ++to) counts.push_back(sent_count(rank, to, count));
    return Layout::ragged(std::move(counts));
}

void make_call(Channel& channel, Algorithm const& algorithm, std::size_t count, Pace pace) {
    int const rank = channel.rank(), ranks = channel.size();
    Layout const equal = Layout::equal(ranks, count), ragged = Layout::ragged(ranks, count);
    auto const with_roots = [&](auto use) {
        for (int const root : std::set{0, ranks / 2, ranks - 1}) {
            Call call(channel, algorithm, pace);
            use(call, root);
        }
    };
    Call call(channel, algorithm, pace);
    using C = Collective;
    switch (algorithm.collective) {
        case C::allgather:
            return call.allgather(equal, false);
        case C::allgatherv:
            return call.allgather(ragged, true);
        case C::broadcast:
            return with_roots([&](Call& c, int root) { c.broadcast(count, root); });
        case C::gather:
            return with_roots([&](Call& c, int root) { c.gather(equal, false, root); });
        case C::gatherv:
            return with_roots([&](Call& c, int root) { c.gather(ragged, true, root); });
        case C::scatter:
            return with_roots([&](Call& c, int root) { c.scatter(equal, false, root); });
        case C::scatterv:
            return with_roots([&](Call& c, int root) { c.scatter(ragged, true, root); });
        case C::alltoall:
            return call.alltoall(equal, equal, false);
        case C::alltoallv:
            return call.alltoall(sent_layout(rank, ranks, count),
                                 received_layout(rank, ranks, count), true);
        default:
            FAIL() << "moves nothing";
    }
}

class Moves : public ::testing::TestWithParam<Entry> {};

TEST_P(Moves, PutEveryByteWhereItBelongs) {
    auto const [algorithm, ranks] = GetParam();
    for (std::size_t const count : counts_to_try(ranks))
        run_ranks(ranks, [count, &algorithm = *algorithm](Channel& channel) {
            for (Pace const pace : paces) {
                SCOPED_TRACE(
                    text("rank ", channel.rank(), ", count ", count, ", segment ", pace.segment));
                make_call(channel, algorithm, count, pace);
            }
        });
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Moves,
                         ::testing::ValuesIn(entries(
                             {Collective::allgather, Collective::allgatherv, Collective::broadcast,
                              Collective::gather, Collective::gatherv, Collective::scatter,
                              Collective::scatterv, Collective::alltoall, Collective::alltoallv})),
                         name_of);

class Barriers : public ::testing::TestWithParam<Entry> {};

TEST_P(Barriers, LetNobodyGoBeforeAllHaveCome) {
    auto const [algorithm, ranks] = GetParam();
    std::atomic<int> arrivals = 0;
    run_ranks(ranks, [&, &algorithm = *algorithm](Channel& channel) {
        for (int round = 1; round <= 200; ++round) {
            ++arrivals;
            Call(channel, algorithm, paces[0]).barrier();
            EXPECT_GE(arrivals, round * channel.size());
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Catalogue, Barriers, ::testing::ValuesIn(entries({Collective::barrier})),
                         name_of);

// The choice between the two algorithms may depend on information of one rank.
TEST(AlltoallvAlgorithms, MayDifferFromRankToRank) {
    constexpr std::size_t count = 3000;
    run_ranks(7, [](Channel& channel) {
        int const rank = channel.rank(), ranks = channel.size();
        auto const& algorithm =
            find_algorithm(Collective::alltoallv, rank % 2 == 0 ? "linear" : "pairwise");
        Call(channel, algorithm, paces[0])
            .alltoall(sent_layout(rank, ranks, count), received_layout(rank, ranks, count), true);
    });
}

}  // namespace
}  // namespace sinew::collectives::testing
