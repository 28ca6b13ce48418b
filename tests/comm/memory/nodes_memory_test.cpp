// SPDX-License-Identifier: Apache-2.0
// Several nodes, each of which shares memory: which algorithms run, that results have the same bits in
// every form of a call, and what the others see if a rank dies or stops.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <tuple>

#include "src/base/text.hpp"
#include "tests/comm/collective_calls.hpp"
#include "tests/comm/memory/hide_memory.hpp"
#include "tests/comm/ranks.hpp"
#include "tests/support/process_ranks.hpp"
#include "tests/support/socket_ranks.hpp"

namespace sinew::tests {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::ProcessRanks;

std::string algorithm_of(Communicator const& comm, std::size_t bytes,
                         Collective collective = Collective::allreduce) {
    return std::string(comm.algorithm_for(collective, bytes));
}

constexpr std::size_t mib = std::size_t{1} << 20;

/// The algorithms of a short and of a long allreduce, after calls with right results.
std::string algorithms_of(Communicator& comm) {
    for (std::size_t const count : {1u, 1000u, 1000000u}) {
        std::vector<int> data(count, comm.rank() + 1);
        comm.allreduce(data, sum);
        int const all = comm.size() * (comm.size() + 1) / 2;
        for (int const one : data)
            if (one != all) return text("wrong result ", one);
    }
    return algorithm_of(comm, 8) + ' ' + algorithm_of(comm, 16 * mib);
}

TEST(NodesWithMemory, AreCombinedInMemoryAndThenBetweenThem) {
    for (std::vector<int> const& node_of :
         {std::vector{0, 0, 1, 1}, {0, 1, 0, 1, 2}, {0, 0, 0, 1}, {0, 1, 1, 1, 2, 2}})
        testing_support::run_socket_ranks(
            node_of, [](Communicator& comm) { EXPECT_EQ(algorithms_of(comm), "leaders lanes"); });
}

TEST(NodesWithMemory, AreAlsoThoseOfAPart) {
    testing_support::run_socket_ranks({0, 0, 0, 1, 1, 1}, [](Communicator& comm) {
        Communicator part = comm.split(comm.rank() % 3 == 0 ? 1 : 0);
        std::string const found = algorithms_of(part);
        // One part has two ranks on each node, the other one.
        EXPECT_EQ(found == "leaders lanes", part.size() == 4) << found;
    });
}

TEST(NodesWithMemory, SendMessagesIfOneOfThemHasNone) {
    ProcessRanks ranks({.ranks = 4,
                        .node_of = {0, 0, 1, 1},
                        .prepare = [](int rank) { return rank < 2 || hide_proc_and_shm(rank); }},
                       algorithms_of);
    ASSERT_TRUE(ranks.all_have_ended());
    if (!ranks.were_permitted()) GTEST_SKIP() << "no mount namespace is permitted here";
    for (int rank = 0; rank < 4; ++rank) {
        EXPECT_EQ(ranks.result(rank), ranks.result(0));
        EXPECT_EQ(ranks.result(rank).find("lanes"), std::string::npos) << ranks.result(rank);
    }
}

TEST(NodesWithMemory, SumInTheSameOrderInEveryFormOfTheCall) {
    testing_support::run_socket_ranks({0, 0, 1, 1, 1, 2, 0}, [](Communicator& comm) {
        for (std::size_t const count : {3u, 5000u, 400000u}) {
            std::minstd_rand random(static_cast<unsigned>(comm.rank()) + 1);
            std::uniform_real_distribution<float> any(-1e6F, 1e6F);
            std::vector<float> in(count), blocking(count), started(count);
            for (float& value : in) value = any(random);
            comm.allreduce(in, blocking, sum);
            comm.iallreduce(in, started, sum).wait();
            std::vector<float> in_place = in, of_rank_0 = blocking;
            comm.allreduce(in_place, sum);
            comm.broadcast(of_rank_0, 0);
            std::size_t const bytes = count * sizeof(float);
            EXPECT_EQ(std::memcmp(blocking.data(), started.data(), bytes), 0) << count;
            EXPECT_EQ(std::memcmp(blocking.data(), in_place.data(), bytes), 0) << count;
            EXPECT_EQ(std::memcmp(blocking.data(), of_rank_0.data(), bytes), 0) << count;
        }
    });
}

/// Calls with right results, of blocks of which some are half as long as others.
void scatter_and_gather(Communicator& comm, std::size_t count, CallOptions const& options) {
    auto const ranks = static_cast<std::size_t>(comm.size());
    auto const self = static_cast<std::size_t>(comm.rank());
    std::vector<std::size_t> counts;
    for (std::size_t r = 0; r < ranks; ++r) counts.push_back(r % 3 == 1 ? count / 2 : count);
    std::size_t const all = std::accumulate(counts.begin(), counts.end(), std::size_t{0});
    std::vector<int> in(all, comm.rank() + 1), own(counts[self]), whole(all), wanted;
    comm.reduce_scatter(in, own, counts, sum, options);
    int const total = comm.size() * (comm.size() + 1) / 2;
    EXPECT_EQ(own, std::vector<int>(counts[self], total)) << count;
    std::fill(own.begin(), own.end(), comm.rank());
    comm.allgatherv(own, whole, counts, options);
    for (std::size_t r = 0; r < ranks; ++r)
        wanted.insert(wanted.end(), counts[r], static_cast<int>(r));
    EXPECT_EQ(whole, wanted) << count;
    std::vector<int> equal(count, comm.rank()), equals(count * ranks), scattered(count);
    comm.iallgather(equal, equals, options).wait();
    for (std::size_t r = 0; r < ranks; ++r)
        EXPECT_EQ(std::count(equals.begin(), equals.end(), static_cast<int>(r)),
                  static_cast<long>(count));
    comm.ireduce_scatter_block(equals, scattered, sum, options).wait();
    EXPECT_EQ(scattered, std::vector<int>(count, comm.rank() * comm.size())) << count;
}

TEST(NodesWithMemory, ScatterAndGatherBlocksInMemoryAndBetweenThem) {
    for (std::vector<int> const& node_of :
         {std::vector{0, 0, 1, 1}, {0, 1, 0, 1, 2}, {0, 0, 0, 1}, {0, 1, 1, 1, 2, 2}})
        testing_support::run_socket_ranks(node_of, [](Communicator& comm) {
            for (std::string_view const algorithm : {"leaders", "lanes"})
                for (std::size_t const count : {0u, 1u, 3000u, 100000u})
                    scatter_and_gather(comm, count, {.algorithm = std::string(algorithm)});
            for (Collective const collective :
                 {Collective::reduce_scatter, Collective::reduce_scatter_block}) {
                EXPECT_EQ(algorithm_of(comm, 8, collective), "leaders") << name(collective);
                EXPECT_EQ(algorithm_of(comm, 16 * mib, collective), "lanes") << name(collective);
            }
        });
}

/// In a call of this kind and size, on five ranks of two nodes; this one is at fault.
class BetweenNodes : public testing::TestWithParam<std::tuple<Collective, std::size_t, int>> {
protected:
    static std::vector<int> nodes() { return {0, 0, 1, 1, 1}; }
    static bool is_gather(Collective collective) {
        return collective == Collective::allgather || collective == Collective::allgatherv;
    }
    /// Without a measured model an allgather would be that of messages alone.
    static bool force_nodes(int /*rank*/) {
        return ::setenv("SINEW_ALGORITHM", "allgather:leaders,allgatherv:lanes", 1) == 0;
    }

    static std::string loop(Communicator& comm, std::function<void()> const& fail) {
        auto const [collective, bytes, at_fault] = GetParam();
        bool const is_short = bytes < mib;
        if (is_gather(collective) &&
            algorithm_of(comm, bytes, collective) != (is_short ? "leaders" : "lanes"))
            return "not the algorithm that the test is about";
        std::jthread failing;
        for (int round = 0;; ++round) {
            if (comm.rank() == at_fault && round == 10)
                failing = std::jthread([&fail] {
                    std::random_device chance;
                    std::this_thread::sleep_for(std::chrono::microseconds(chance() % 2000));
                    fail();
                });
            call(comm, collective, bytes, round % comm.size());
        }
    }
};

std::string fault_name(
    testing::TestParamInfo<std::tuple<Collective, std::size_t, int>> const& info) {
    auto const& [collective, bytes, at_fault] = info.param;
    return text(name(collective), "_", bytes, "_rank_", at_fault);
}

INSTANTIATE_TEST_SUITE_P(Each, BetweenNodes,
                         testing::Values(std::tuple(Collective::allreduce, 48, 2),
                                         std::tuple(Collective::allreduce, 100000, 0),
                                         std::tuple(Collective::allreduce, 3000000, 2),
                                         std::tuple(Collective::allreduce, 3000000, 4),
                                         std::tuple(Collective::reduce, 100000, 3),
                                         std::tuple(Collective::broadcast, 3000000, 1),
                                         std::tuple(Collective::allgather, 1000, 2),
                                         std::tuple(Collective::allgatherv, 3000000, 4),
                                         std::tuple(Collective::reduce_scatter, 1000, 0),
                                         std::tuple(Collective::reduce_scatter, 3000000, 1),
                                         std::tuple(Collective::reduce_scatter_block, 3000000, 4),
                                         std::tuple(Collective::barrier, 0, 4)),
                         fault_name);

// Ranks of other nodes may see first that one has ended which saw it die.
TEST_P(BetweenNodes, ARankThatIsKilledEndsAll) {
    int const at_fault = std::get<2>(GetParam());
    ProcessRanks ranks(
        {.ranks = 5, .node_of = nodes(), .prepare = force_nodes},
        [](Communicator& comm) { return loop(comm, [] { ::kill(::getpid(), SIGKILL); }); });
    ASSERT_TRUE(ranks.all_have_ended());
    int const node = nodes().at(static_cast<std::size_t>(at_fault));
    bool named = false;
    for (int rank = 0; rank < 5; ++rank) {
        if (rank == at_fault) continue;
        std::string const result = ranks.result(rank);
        EXPECT_THAT(result, AllOf(StartsWith("PeerLost: rank "), ContainsRegex("has died|gave up")))
            << ranks.said(rank);
        named = named ||
                result.find(text("rank ", at_fault, " on node", node, " has died")) != result.npos;
    }
    EXPECT_TRUE(named);
}

TEST(NodesWithMemory, NameARankThatIsStopped) {
    constexpr int at_fault = 3;
    ProcessRanks ranks({.ranks = 4, .node_of = {0, 0, 1, 1}, .timeout = 600ms},
                       [](Communicator& comm) {
                           for (int round = 0;; ++round) {
                               if (comm.rank() == at_fault && round == 10) ::raise(SIGSTOP);
                               call(comm, Collective::allreduce, 3000000, 0);
                           }
                           return std::string();
                       });
    ASSERT_TRUE(ranks.has_ended(0) && ranks.has_ended(1) && ranks.has_ended(2));
    ::kill(ranks.pid(at_fault), SIGCONT);
    ASSERT_TRUE(ranks.has_ended(at_fault));
    for (int rank = 0; rank < at_fault; ++rank)
        EXPECT_THAT(ranks.result(rank), HasSubstr("no answer from rank 3 on node1"));
}

}  // namespace
}  // namespace sinew::tests
