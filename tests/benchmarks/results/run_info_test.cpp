// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/collectives/results/run_info.hpp"

#include <gmock/gmock.h>

#include <sinew/error.hpp>

namespace sinew::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunInfo described() {
    return {.version = "1.2.3",
            .date = "2026-01-31",
            .machine = "CPU, 2 processors, Linux 6",
            .ranks = 4,
            .nodes = 1,
            .transport = "mpi",
            .mpi = "Open MPI 4.1.4",
            .mpi_thread = "single",
            .barrier = "flags in shared memory",
            .own_sessions = true,
            .zero_copy = true,
            .oversubscribed = true,
            .limits = {.processors = 2,
                       .copies = {{16384, 200.5, "memcpy"}},
                       .context_switch_ns = 1500,
                       .sums = {{1 << 20, 321.5, 432.5, 65536}}}};
}

TEST(RunInfo, ReadsWhatItWrites) {
    EXPECT_EQ(to_json(run_info_from_json(to_json(described()))), to_json(described()));
    EXPECT_THROW(run_info_from_json("{\"run\":{}}"), UsageError);
    EXPECT_THROW(run_info_from_json("{}"), UsageError);
    EXPECT_THROW(run_info_from_json("no JSON"), UsageError);
}

TEST(RunInfo, TheHeadSaysWhatFiguresDependOn) {
    std::string const head = to_text(described());
    for (char const* word :
         {"sinew 1.2.3", "4 ranks on 1 node", "CPU, 2 processors",
          "Open MPI 4.1.4 at "
          "MPI_THREAD_SINGLE",
          "flags in shared memory", "more ranks than processors", "a session of its own",
          "200.5 (16K, memcpy)", "1.50 us", "321.50 (1M)", "just written, in 432.50 (1M)"})
        EXPECT_THAT(head, HasSubstr(word));
    EXPECT_THAT(to_text(RunInfo{.ranks = 1, .nodes = 1}), Not(HasSubstr("MPI_THREAD")));
}

TEST(RunInfo, TheDateIsThatOfADay) { EXPECT_EQ(date_text().size(), 10u); }

}  // namespace
}  // namespace sinew::bench
