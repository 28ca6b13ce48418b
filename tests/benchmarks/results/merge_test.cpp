// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>
#include <sinew/error.hpp>

#include "benchmarks/collectives/results/row.hpp"

namespace sinew::bench {
namespace {

Row row(std::size_t bytes, double us) {
    return {.collective = "allreduce",
            .bytes = bytes,
            .ranks = 2,
            .nodes = 1,
            .dtype = "f32",
            .op = "sum",
            .algorithm = "auto",
            .variant = "reused",
            .us = {us, us, us},
            .wrong = 0,
            .state = "near"};
}

Row with_peer(Row row, std::string const& name, double us, double ratio) {
    row.peers.push_back({name, {us, us, us}, ratio});
    return row;
}

TEST(Merge, AddsThePeersOfAnotherLaunch) {
    auto const merged =
        merge({{with_peer(row(8, 2), "openmpi", 3, 1.4)}, {with_peer(row(8, 5), "mpich", 8, 1.6)}});
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_DOUBLE_EQ(merged[0].us.p50, 2);
    ASSERT_EQ(merged[0].peers.size(), 2u);
    EXPECT_EQ(merged[0].peers[0].name, "openmpi");
    EXPECT_DOUBLE_EQ(merged[0].peers[0].ratio, 1.4);  // from interleaved rounds: kept
    EXPECT_EQ(merged[0].peers[1].name, "mpich");
    EXPECT_DOUBLE_EQ(merged[0].peers[1].ratio, 4);  // 8 us against our 2 us of the first file
}

TEST(Merge, RepetitionsAreMediansAndPairedInOrder) {
    auto const merged = merge({{row(8, 1)},
                               {with_peer(row(8, 9), "mpich", 4, 1)},
                               {row(8, 2)},
                               {with_peer(row(8, 9), "mpich", 6, 1)},
                               {row(8, 4)},
                               {with_peer(row(8, 9), "mpich", 8, 1)}});
    ASSERT_EQ(merged.size(), 1u);
    EXPECT_DOUBLE_EQ(merged[0].us.p50, 2);
    EXPECT_DOUBLE_EQ(merged[0].peers[0].us.p50, 6);
    EXPECT_DOUBLE_EQ(merged[0].peers[0].ratio, 3);  // of 4, 3, 2
}

TEST(Merge, StatesThatDifferAreMixed) {
    Row other = with_peer(row(8, 2), "mpich", 8, 4);
    other.state = "far";
    EXPECT_EQ(merge({{row(8, 2)}, {other}})[0].state, "mixed");
}

TEST(Merge, RowsOfOneFileOnlyStayAsTheyAre) {
    auto const merged = merge({{row(8, 2), row(64, 3)}, {with_peer(row(8, 2), "mpich", 8, 4)}});
    ASSERT_EQ(merged.size(), 2u);
    EXPECT_EQ(merged[0].peers.size(), 1u);
    EXPECT_TRUE(merged[1].peers.empty());
}

TEST(Merge, AWrongResultAnywhereIsWrong) {
    Row wrong = with_peer(row(8, 2), "mpich", 8, 4);
    wrong.wrong = 1;
    EXPECT_EQ(merge({{row(8, 2)}, {wrong}})[0].wrong, 1u);
}

TEST(Merge, TheRunHasTheLibrariesOfAll) {
    RunInfo ours{.version = "1", .ranks = 2, .mpi = "Open MPI 4.1.4"};
    RunInfo other{.version = "1", .ranks = 2, .mpi = "MPICH 4.0.2"};
    EXPECT_EQ(merge({ours, other, ours, other}).mpi, "Open MPI 4.1.4 and MPICH 4.0.2");
    EXPECT_EQ(merge({ours, other}).ranks, 2);
}

TEST(ReadResults, NamesTheLineThatIsNone) {
    std::string const path = ::testing::TempDir() + "/sinew_rows_test.json";
    std::ofstream(path) << to_json(row(8, 2)) << "\n\n{\"collective\":1}\n";
    try {
        read_results(path);
        FAIL() << "no error";
    } catch (UsageError const& problem) {
        EXPECT_THAT(problem.what(), ::testing::HasSubstr(path + ":3:"));
    }
    std::ofstream(path) << to_json(row(8, 2)) << '\n';
    EXPECT_EQ(read_results(path).rows.size(), 1u);
    std::ofstream(path) << to_json(RunInfo{.version = "1", .ranks = 4}) << '\n'
                        << to_json(row(8, 2)) << '\n';
    EXPECT_EQ(read_results(path).run.ranks, 4);
    EXPECT_EQ(read_results(path).rows.size(), 1u);
    std::ofstream(path) << to_json(RunInfo{.version = "1", .ranks = 4}) << '\n';
    EXPECT_THROW(read_results(path), UsageError);  // no rows
    std::remove(path.c_str());
    EXPECT_THROW(read_results(path), UsageError);
}

}  // namespace
}  // namespace sinew::bench
