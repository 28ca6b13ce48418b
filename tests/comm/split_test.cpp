// SPDX-License-Identifier: Apache-2.0
// Communicators made by split and dup, over threads and over MPI.
#include <optional>

#include "tests/comm/ranks.hpp"

namespace sinew::tests {
namespace {

using testing::Each;
using testing::ElementsAreArray;

constexpr CallOptions split_options{.timeout = long_time};

/// The ranks in `whole` of the members of `part`, in the order of `part`.
std::vector<int> members(Communicator& whole, Communicator& part) {
    std::vector<int> all(static_cast<std::size_t>(part.size()));
    int const self = whole.rank();
    part.allgather(std::span(&self, 1), all, split_options);
    return all;
}

TEST(Split, GroupsByColor) {
    on_ranks(7, [](Communicator& comm) {
        Communicator part = comm.split(comm.rank() % 3);
        std::vector<int> wanted;
        for (int r = comm.rank() % 3; r < comm.size(); r += 3) wanted.push_back(r);
        EXPECT_THAT(members(comm, part), ElementsAreArray(wanted));
        EXPECT_EQ(part.rank(), comm.rank() / 3);
    });
}

TEST(Split, OrdersByKeyThenByRank) {
    on_ranks(5, [](Communicator& comm) {
        Communicator reversed = comm.split(0, -comm.rank());
        EXPECT_EQ(reversed.rank(), comm.size() - 1 - comm.rank());
        Communicator halves = comm.split(0, -(comm.rank() / 2));  // ties: 4, 2 3, 0 1
        std::vector<int> wanted;
        for (int pair = (comm.size() - 1) / 2; pair >= 0; --pair)
            for (int r = 2 * pair; r < std::min(2 * pair + 2, comm.size()); ++r)
                wanted.push_back(r);
        EXPECT_THAT(members(comm, halves), ElementsAreArray(wanted));
    });
}

TEST(Split, RefusesANegativeColor) {
    on_ranks(2, [](Communicator& comm) {
        Communicator copy = comm.dup();  // lost, since a color is a rank's own argument
        EXPECT_THAT(thrown_by<UsageError>([&] { copy.split(-3); }), testing::HasSubstr("color -3"));
        EXPECT_EQ(comm.dup().size(), comm.size());
    });
}

TEST(Split, LeavesOutWhoJoinsNone) {
    on_ranks(4, [](Communicator& comm) {
        if (comm.rank() == 1) return comm.split_none();
        Communicator part = comm.split(5);
        EXPECT_EQ(part.size(), std::max(1, comm.size() - 1));
        EXPECT_EQ(part.allreduce_value(1, sum, split_options), part.size());
    });
}

TEST(Split, OfSplitsReachesSingleRanks) {
    on_ranks(8, [](Communicator& comm) {
        Communicator part = comm.dup();
        while (part.size() > 1) {
            int const before = part.size();
            part = part.split(part.rank() % 2);  // the whole is destroyed while the part remains
            EXPECT_LT(part.size(), before);
            EXPECT_EQ(part.allreduce_value(1, sum, split_options), part.size());
        }
    });
}

TEST(Dup, KeepsItsMessagesToItself) {
    on_ranks(2, [](Communicator& comm) {
        Communicator copy = comm.dup();
        EXPECT_EQ(copy.rank(), comm.rank());
        EXPECT_EQ(copy.size(), comm.size());
        int first = 1, second = 2;
        if (comm.rank() == 0) {
            comm.send(std::span(&first, 1), 1, 4, split_options);
            copy.send(std::span(&second, 1), 1, 4, split_options);
        } else {
            int value = 0;
            copy.recv(std::span(&value, 1), any_source, 4, split_options);
            EXPECT_EQ(value, 2);
            comm.recv(std::span(&value, 1), any_source, 4, split_options);
            EXPECT_EQ(value, 1);
        }
    });
}

TEST(Communicators, WorkAtTheSameTime) {
    on_ranks(6, [](Communicator& comm) {
        Communicator rows = comm.split(comm.rank() / 2), columns = comm.split(comm.rank() % 2);
        for (int i = 0; i < 10; ++i) {
            std::vector<int> all(20000, 1), row(20000, 1), column(20000, 1);
            Request a = comm.iallreduce(all, sum, split_options);
            Request b = rows.iallreduce(row, sum, split_options);
            Request c = columns.iallreduce(column, sum, split_options);
            EXPECT_EQ(columns.allreduce_value(1, sum, split_options), columns.size());
            EXPECT_EQ(rows.allreduce_value(1, sum, split_options), rows.size());
            a.wait(), b.wait(), c.wait();
            EXPECT_THAT(all, Each(comm.size()));
            EXPECT_THAT(row, Each(rows.size()));
            EXPECT_THAT(column, Each(columns.size()));
        }
    });
}

TEST(Communicators, MayGoInAnyOrder) {
    on_ranks(4, [](Communicator& comm) {
        std::optional<Communicator> a = comm.dup(), b = a->dup(), c = b->dup();
        auto& first = comm.rank() % 2 == 0 ? a : b;
        auto& second = comm.rank() % 2 == 0 ? b : a;
        first.reset();
        second.reset();
        EXPECT_EQ(c->allreduce_value(1, sum, split_options), comm.size());
    });
}

TEST(Communicators, MayGoWithRequestsPending) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<std::vector<float>> data(20, std::vector<float>(5000, 1));
        std::vector<Request> requests;
        for (auto& each : data) requests.push_back(comm.dup().iallreduce(each, sum, split_options));
        for (Request& request : requests) request.wait();
        for (auto& each : data) EXPECT_THAT(each, Each(static_cast<float>(comm.size())));
    });
}

TEST(Communicators, SplitWithRequestsPending) {
    on_ranks(4, [](Communicator& comm) {
        std::vector<float> data(100000, 1);
        Request request = comm.iallreduce(data, sum, split_options);
        Communicator part = comm.split(comm.rank() % 2);
        EXPECT_EQ(part.allreduce_value(1, sum, split_options), part.size());
        request.wait();
        EXPECT_THAT(data, Each(static_cast<float>(comm.size())));
    });
}

#if !SINEW_TEST_OVER_MPI
TEST(SplitNode, GivesTheRanksOfOneNode) {
    run_thread_ranks({.ranks = 7, .ranks_per_node = 3}, [](Communicator& comm) {
        NodeLayout const& nodes = comm.nodes();
        EXPECT_EQ(nodes.nodes(), 3);
        EXPECT_THAT(nodes.node_of, testing::ElementsAre(0, 0, 0, 1, 1, 1, 2));
        EXPECT_EQ(nodes.node, comm.rank() / 3);
        EXPECT_EQ(nodes.local_rank, comm.rank() % 3);
        EXPECT_EQ(nodes.local_size, comm.rank() == 6 ? 1 : 3);
        Communicator node = comm.split_node();
        EXPECT_EQ(node.size(), nodes.local_size);
        EXPECT_EQ(node.rank(), nodes.local_rank);
        EXPECT_EQ(node.nodes().nodes(), 1);
        EXPECT_EQ(node.nodes().host_of(0), nodes.host_of(comm.rank()));
        // One rank of each node, the last node first.
        if (nodes.local_rank != 0) return comm.split_none();
        Communicator leaders = comm.split(0, -nodes.node);
        EXPECT_EQ(leaders.nodes().nodes(), 3);
        EXPECT_EQ(leaders.nodes().host_of(0), nodes.hosts[2]);
    });
}
#endif

}  // namespace
}  // namespace sinew::tests
