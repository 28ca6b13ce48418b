// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/report_page.hpp"

#include <gmock/gmock.h>

namespace sinew::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Row variant_row(std::string variant, std::size_t bytes, double us) {
    return {.collective = "allreduce",
            .bytes = bytes,
            .ranks = 2,
            .nodes = 1,
            .dtype = "f32",
            .op = "sum",
            .algorithm = "auto:ring",
            .variant = std::move(variant),
            .us = {us, us, us},
            .state = "near",
            .peers = {{"openmpi", {6, 6, 6}, 3}, {"openmpi:sm", {5, 5, 5}, 2.5}},
            .limit_us = 1,
            .one_way_ns = 50};
}

Results example_run() {
    return {.run = {.version = "1",
                    .date = "2026-01-31",
                    .machine = "CPU",
                    .ranks = 2,
                    .nodes = 1,
                    .transport = "mpi",
                    .mpi = "Open MPI 4.1.4",
                    .mpi_thread = "single",
                    .barrier = "flags"},
            .rows = {variant_row("reused", 8, 2), variant_row("live", 8, 4)}};
}

TEST(ReportPage, ARowHasBothVariantsWithTheirRatios) {
    std::string const page = report_text({example_run()}, {{}});
    EXPECT_THAT(page,
                HasSubstr("| reused: us | openmpi | best peer | of limit | state | live: us"));
    EXPECT_THAT(page, HasSubstr("| 8 | f32 sum | ring | 2.00 | 3.00 | 2.50 (openmpi:sm) | 0.50 | "
                                "near | 4.00 | 3.00 | 2.50 (openmpi:sm) | 0.25 | near |"));
    EXPECT_THAT(page, HasSubstr("Open MPI 4.1.4 at MPI_THREAD_SINGLE"));
    EXPECT_THAT(page, HasSubstr("50 ns (near)"));
}

TEST(ReportPage, TheMpiLibraryHasAColumnWhateverTheOrderOfPeers) {
    Results run = example_run();
    for (Row& each : run.rows) each.peers.insert(each.peers.begin(), {"gloo", {9, 9, 9}, 9});
    EXPECT_THAT(report_text({run}, {{}}), HasSubstr("reused: us | openmpi | best peer"));
}

TEST(ReportPage, AMixedRowHasTheRatioOfEachState) {
    Results run = example_run();
    run.rows = {variant_row("live", 8, 2)};
    run.rows[0].state = "mixed";
    run.rows[0].by_state = {{"near", 5, 1, {{"openmpi", {2, 2, 2}, 2}}},
                            {"far", 5, 3, {{"openmpi", {9, 9, 9}, 3}}}};
    EXPECT_THAT(report_text({run}, {{}}),
                HasSubstr("| near 2.00, far 3.00 | near 2.00 (openmpi), far 3.00 (openmpi) |"));
}

TEST(ReportPage, WhatWasNotMeasuredIsADash) {
    Results run = example_run();
    run.rows.push_back(variant_row("reused", 64, 3));
    run.rows.back().limit_us.reset();
    run.rows.back().peers.clear();
    EXPECT_THAT(report_text({run}, {{}}), HasSubstr("| 64 | f32 sum | ring | 3.00 | - | - | - | "
                                                    "near | - | - | - | - | - |"));
}

TEST(ReportPage, PlotsAreBesideThePageAndReferredTo) {
    auto const plots = report_plots(example_run(), "docs", "page-2-ranks");
    ASSERT_EQ(plots.size(), 2u);
    EXPECT_EQ(plots[0].file, "page-2-ranks-allreduce.svg");
    EXPECT_THAT(plots[0].script, HasSubstr("set output 'docs/page-2-ranks-allreduce.svg'"));
    EXPECT_THAT(plots[0].script, HasSubstr("best peer"));
    EXPECT_THAT(plots[0].script, Not(HasSubstr("openmpi:sm")));
    EXPECT_THAT(plots[1].script, HasSubstr("8 2.5\n"));
    EXPECT_THAT(report_text({example_run()}, {plots}), HasSubstr("](page-2-ranks-allreduce.svg)"));
}

TEST(ReportPage, WithoutPeersThereIsNothingToCompare) {
    Results run = example_run();
    for (Row& each : run.rows) each.peers.clear();
    EXPECT_EQ(report_plots(run, "docs", "stem").size(), 1u);
    EXPECT_THAT(report_text({run}, {{}}), HasSubstr("| 2.00 | - | - |"));
}

}  // namespace
}  // namespace sinew::bench
