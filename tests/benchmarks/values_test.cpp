// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/values.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <sinew/thread_ranks.hpp>

#include "benchmarks/collectives/scalar.hpp"

namespace sinew::bench {
namespace {

using Kind = DataType::Kind;

/// The prepared workloads of all ranks; the tests perform the collective by hand.
std::vector<Workload> prepared(Collective collective, DataType type, ReduceOp const& op, int ranks,
                               std::size_t count) {
    std::vector<Workload> loads;
    for (int rank = 0; rank < ranks; ++rank) {
        Problem problem{.collective = collective,
                        .type = type,
                        .op = op,
                        .ranks = ranks,
                        .rank = rank,
                        .count = count};
        if (collective == Collective::allgather || collective == Collective::alltoall)
            problem.parts.assign(static_cast<std::size_t>(ranks),
                                 count / static_cast<std::size_t>(ranks));
        loads.emplace_back(problem);
        Values(problem).prepare(loads.back());
    }
    return loads;
}

std::size_t wrong(std::vector<Workload> const& loads) {
    std::size_t all = 0;
    for (Workload const& load : loads) all += Values(load.problem()).wrong(load);
    return all;
}

void reduce_by_hand(std::vector<Workload>& loads) {
    DataType const type = loads[0].problem().type;
    ReduceOp const& op = loads[0].problem().op;
    for (std::size_t i = 0; i < loads[0].in().count; ++i) {
        Scalar result = decode(type, loads[0].in_bytes() + i * type.size());
        for (std::size_t rank = 1; rank < loads.size(); ++rank)
            result =
                combine(op.kind(), result, decode(type, loads[rank].in_bytes() + i * type.size()));
        if (op.kind() == ReduceOp::Kind::average) result.real /= static_cast<double>(loads.size());
        auto const bytes = encode(type, result);
        for (Workload& load : loads)
            std::memcpy(load.out_bytes() + i * type.size(), bytes.data(), type.size());
    }
}

TEST(Values, ACorrectAllreduceIsFoundCorrect) {
    for (DataType const type : {Kind::f32, Kind::bf16, Kind::i8, Kind::u64, Kind::c64})
        for (int const ranks : {1, 2, 7, 40}) {
            auto loads = prepared(Collective::allreduce, type, sum, ranks, 100);
            EXPECT_GT(wrong(loads), 0u) << "nothing was done yet";
            reduce_by_hand(loads);
            EXPECT_EQ(wrong(loads), 0u) << type.name() << ' ' << ranks;
        }
}

TEST(Values, EveryOperationStaysExact) {
    for (ReduceOp const& op : {prod, min, max, logical_and, bit_xor}) {
        auto loads = prepared(Collective::allreduce, Kind::i8, op, 9, 100);
        reduce_by_hand(loads);
        EXPECT_EQ(wrong(loads), 0u) << op.name();
    }
    auto located = prepared(Collective::allreduce, Kind::f64_index, maxloc, 9, 100);
    reduce_by_hand(located);
    EXPECT_EQ(wrong(located), 0u);
    auto mean = prepared(Collective::allreduce, Kind::f16, average, 3, 100);
    reduce_by_hand(mean);
    EXPECT_EQ(wrong(mean), 0u);
}

TEST(Values, OneWrongElementIsCounted) {
    auto loads = prepared(Collective::allreduce, Kind::f32, sum, 3, 100);
    reduce_by_hand(loads);
    loads[1].out_bytes()[17 * 4] ^= std::byte{1};
    EXPECT_EQ(wrong(loads), 1u);
}

TEST(Values, BlocksOfOtherRanksAreToldApart) {
    for (DataType const type : {Kind::u8, Kind::f64}) {
        auto loads = prepared(Collective::allgather, type, sum, 4, 64);
        std::size_t const part = loads[0].in().bytes();
        for (Workload& load : loads)
            for (std::size_t rank = 0; rank < 4; ++rank)
                std::memcpy(load.out_bytes() + rank * part, loads[rank].in_bytes(), part);
        EXPECT_EQ(wrong(loads), 0u);
        std::memcpy(loads[2].out_bytes(), loads[1].in_bytes(),
                    part);  // rank 1's part instead of rank 0's
        EXPECT_EQ(wrong(loads), 16u);
    }
}

TEST(Values, AlltoallBlocksBelongToTheReceiver) {
    auto loads = prepared(Collective::alltoall, Kind::u32, sum, 3, 12);
    std::size_t const part = loads[0].in().bytes() / 3;
    for (std::size_t to = 0; to < 3; ++to)
        for (std::size_t from = 0; from < 3; ++from)
            std::memcpy(loads[to].out_bytes() + from * part, loads[from].in_bytes() + to * part,
                        part);
    EXPECT_EQ(wrong(loads), 0u);
}

TEST(Problem, PartsCoverTheWholeVector) {
    run_thread_ranks(3, [](Communicator& comm) {
        auto const uneven = Problem::of(Collective::allgatherv, Kind::f32, sum, 40, comm);
        EXPECT_EQ(uneven.count, 10u);
        EXPECT_EQ(uneven.parts, (std::vector<std::size_t>{4, 3, 3}));
        auto const equal = Problem::of(Collective::allgather, Kind::f32, sum, 40, comm);
        EXPECT_EQ(equal.count, 9u);
        auto const least = Problem::of(Collective::alltoall, Kind::f64, sum, 8, comm);
        EXPECT_EQ(least.count, 3u);
        EXPECT_EQ(Problem::of(Collective::barrier, Kind::f64, sum, 8, comm).count, 0u);
    });
}

}  // namespace
}  // namespace sinew::bench
