// SPDX-License-Identifier: Apache-2.0
// Rings and chains go from node to node: one rank of each node sends to another node, however the
// ranks were dealt to the nodes.
#include "collectives/schedule/ring_order.hpp"

#include <set>

#include "collectives/algorithms.hpp"
#include "tests/collectives/trial.hpp"

namespace sinew::collectives::testing {
namespace {

/// Node of each rank; at least two nodes.
using NodeOf = std::vector<int>;
NodeOf const layouts[] = {
    {0, 1}, {0, 1, 0, 1}, {0, 1, 2, 0, 1, 2, 0}, {0, 0, 1, 1, 0}, {0, 0, 1, 1}};

/// Remembers which ranks sent to another node.
class NotingTransport final : public Transport {
public:
    using Links = std::set<std::pair<int, int>>;

    NotingTransport(Transport& whole, NodeOf const& node_of) : whole_(whole), node_of_(node_of) {}

    int rank() const override { return whole_.rank(); }
    int size() const override { return whole_.size(); }
    std::string_view name() const override { return whole_.name(); }
    Threading threading() const override { return whole_.threading(); }
    int max_tag() const override { return whole_.max_tag(); }
    Ticket start_send(int to, int tag, std::span<std::byte const> bytes) override {
        if (node(rank()) != node(to)) links.emplace(rank(), to);
        return whole_.start_send(to, tag, bytes);
    }
    Ticket start_receive(int from, int tag, std::span<std::byte> bytes) override {
        return whole_.start_receive(from, tag, bytes);
    }
    bool test(Ticket& ticket, Received* received) override { return whole_.test(ticket, received); }
    void cancel(Ticket& ticket) noexcept override { whole_.cancel(ticket); }
    bool withdraw(Ticket& ticket) noexcept override { return whole_.withdraw(ticket); }
    std::optional<Received> probe(int from, int tag) override { return whole_.probe(from, tag); }
    std::vector<int> lost() override { return whole_.lost(); }
    std::unique_ptr<Transport> split(std::span<int const> members, std::uint64_t lane) override {
        return whole_.split(members, lane);
    }

    Links links;

private:
    int node(int rank) const { return node_of_[static_cast<std::size_t>(rank)]; }

    Transport& whole_;
    NodeOf const& node_of_;
};

/// Runs `body` on every rank. Returns the pairs of ranks on different nodes that sent a message.
NotingTransport::Links links_between_nodes(
    NodeOf const& node_of, std::function<void(Channel&, RingOrder const&)> const& body) {
    RingOrder const order(node_of);
    NotingTransport::Links all;
    std::mutex mutex;
    sinew::testing::run_ranks_over(static_cast<int>(node_of.size()),
                                   [&](Transport& plain, WaitPolicy& policy, int tag) {
                                       NotingTransport noting(plain, node_of);
                                       Channel channel(noting, policy, tag);
                                       body(channel, order);
                                       std::lock_guard const lock(mutex);
                                       all.merge(noting.links);
                                   });
    return all;
}

void expect_one_link_each(NotingTransport::Links const& links, NodeOf const& node_of) {
    std::set<int> const nodes(node_of.begin(), node_of.end());
    EXPECT_LE(links.size(), nodes.size()) << "on " << node_of.size() << " ranks";
}

TEST(RingOrder, IsThatOfTheRanksWhereTheyAreInNodeOrder) {
    for (NodeOf const& node_of : {NodeOf{0}, NodeOf{0, 0, 0}, NodeOf{0, 0, 1, 2, 2}})
        EXPECT_TRUE(RingOrder(node_of).is_rank_order());
}

TEST(RingOrder, PassesOneNodeAfterTheOther) {
    RingOrder const order(layouts[2]);
    ASSERT_FALSE(order.is_rank_order());
    std::vector<int> passed;
    for (int position = 0; position < 7; ++position) {
        passed.push_back(order.rank_at(position));
        EXPECT_EQ(order.position_of(passed.back()), position);
    }
    EXPECT_EQ(passed, (std::vector{0, 3, 6, 1, 4, 2, 5}));
}

TEST(RingOrder, WrapsAround) {
    RingOrder const order(layouts[1]);
    RingPlace const last(3, 4, &order), plain(3, 4, nullptr);
    EXPECT_EQ(last.position(), 3);
    EXPECT_EQ(last.neighbors().next, 0);
    EXPECT_EQ(last.neighbors().previous, 1);
    EXPECT_EQ(last.rank_at(-7), 2);
    EXPECT_EQ(plain.neighbors().next, 0);
    EXPECT_EQ(plain.neighbors().previous, 2);
    EXPECT_EQ(plain.rank_at(-7), 1);
}

constexpr std::size_t elements = 4099;

TEST(RingOrder, OfAllreduceSumsFromThePositionOfTheChunk) {
    for (NodeOf const& node_of : layouts) {
        int const ranks = static_cast<int>(node_of.size());
        auto const links = links_between_nodes(node_of, [&](Channel& channel, auto const& order) {
            std::vector<float> in(elements), out(elements);
            auto const input = [](int rank, std::size_t i) {
                return static_cast<float>(bits(rank, i) >> 8);
            };
            for (std::size_t i = 0; i < elements; ++i) in[i] = input(channel.rank(), i);
            Scratch scratch;
            Reducer const reducer(sum, DataType::Kind::f32);
            Arguments call = arguments(scratch, paces[0], sizeof(float));
            call.in = bytes_of(in);
            call.out = bytes_of(out);
            call.count = elements;
            call.reduce = &reducer;
            call.ring = &order;
            ring_allreduce(channel, call);
            RingPlace const ring(0, ranks, &order);
            Chunks const chunks(elements, ranks, 1);
            std::vector<float> expected(elements);
            for (int chunk = 0; chunk < ranks; ++chunk)
                for (std::size_t i = 0; i < chunks[chunk].bytes; ++i) {
                    std::size_t const at = chunks[chunk].offset + i;
                    float partial = input(ring.rank_at(chunk), at);
                    for (int step = 1; step < ranks; ++step)
                        partial += input(ring.rank_at(chunk + step), at);
                    expected[at] = partial;
                }
            expect_same(out, expected);
        });
        expect_one_link_each(links, node_of);
    }
}

TEST(RingOrder, OfReduceScatterLeavesEachRankItsBlock) {
    for (NodeOf const& node_of : layouts) {
        int const ranks = static_cast<int>(node_of.size());
        Layout const layout = Layout::ragged(ranks, 1000);
        auto const links = links_between_nodes(node_of, [&](Channel& channel, auto const& order) {
            std::vector<std::uint32_t> in(layout.extent), out(layout.count(channel.rank()));
            for (std::size_t i = 0; i < in.size(); ++i) in[i] = bits(channel.rank(), i);
            Scratch scratch;
            Reducer const reducer(sum, DataType::Kind::u32);
            Arguments call = arguments(scratch, paces[0], sizeof(std::uint32_t));
            call.in = bytes_of(in);
            call.out = bytes_of(out);
            call.reduce = &reducer;
            call.ring = &order;
            call.blocks = layout.blocks(sizeof(std::uint32_t));
            ring_reduce_scatter(channel, call);
            std::vector<std::uint32_t> expected(out.size());
            for (std::size_t i = 0; i < expected.size(); ++i)
                for (int rank = 0; rank < ranks; ++rank)
                    expected[i] += bits(rank, layout.offset(channel.rank()) + i);
            expect_same(out, expected);
        });
        expect_one_link_each(links, node_of);
    }
}

TEST(RingOrder, OfAllgatherBringsEveryBlock) {
    for (NodeOf const& node_of : layouts) {
        int const ranks = static_cast<int>(node_of.size());
        Layout const layout = Layout::ragged(ranks, 1000);
        auto const links = links_between_nodes(node_of, [&](Channel& channel, auto const& order) {
            auto const fill = [&](std::vector<std::uint32_t>& all, int rank) {
                for (std::size_t i = 0; i < layout.count(rank); ++i)
                    all[layout.offset(rank) + i] = bits(rank, i);
            };
            auto out = untouched<std::uint32_t>(layout.extent), expected = out;
            fill(out, channel.rank());
            for (int rank = 0; rank < ranks; ++rank) fill(expected, rank);
            Scratch scratch;
            Arguments call = arguments(scratch, paces[0], sizeof(std::uint32_t));
            call.out = bytes_of(out);
            call.ring = &order;
            call.blocks = layout.blocks(sizeof(std::uint32_t));
            ring_allgather(channel, call);
            expect_same(out, expected);
        });
        expect_one_link_each(links, node_of);
    }
}

TEST(RingOrder, OfTheChainReachesAllFromEveryRoot) {
    for (NodeOf const& node_of : layouts)
        for (int root = 0; root < static_cast<int>(node_of.size()); ++root) {
            auto const broadcast = [&](Channel& channel, auto const& order, auto const& algorithm) {
                std::vector<std::uint32_t> out(elements), expected(elements);
                for (std::size_t i = 0; i < elements; ++i) expected[i] = bits(root, i);
                if (channel.rank() == root) out = expected;
                Scratch scratch;
                Arguments call = arguments(scratch, paces[0], sizeof(std::uint32_t));
                call.out = bytes_of(out);
                call.count = elements;
                call.root = root;
                call.ring = &order;
                algorithm(channel, call);
                expect_same(out, expected);
            };
            auto const links =
                links_between_nodes(node_of, [&](Channel& channel, auto const& order) {
                    broadcast(channel, order, chain_broadcast);
                });
            expect_one_link_each(links, node_of);
            links_between_nodes(node_of, [&](Channel& channel, auto const& order) {
                broadcast(channel, order, scatter_allgather_broadcast);
            });
        }
}

}  // namespace
}  // namespace sinew::collectives::testing
