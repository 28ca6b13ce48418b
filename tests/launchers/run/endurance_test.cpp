// SPDX-License-Identifier: Apache-2.0
//
// Many jobs, many ranks, much output. SINEW_TEST_JOBS, SINEW_TEST_REPEAT and SINEW_TEST_OUTPUT_MIB
// set the amounts; run_endurance_test/long uses larger ones than the defaults.
#include <gmock/gmock.h>

#include "src/base/text.hpp"
#include "tests/launchers/run/launched.hpp"
#include "tests/launchers/run/programs.hpp"
#include "tests/launchers/run/programs/lines.hpp"
#include "tests/support/leak_check.hpp"
#include "tests/support/processes.hpp"

namespace sinew::testing_support {
namespace {

class Endurance : public RunTest {};

TEST_F(Endurance, ManyJobsInARow) {
    long const jobs = setting("SINEW_TEST_JOBS", 200);
    for (long job = 0; job < jobs; ++job) {
        auto const ended = run({"-n", "1", "true"});
        ASSERT_EQ(ended.code, 0) << "job " << job << "\n" << ended.err;
        ASSERT_EQ(ended.err, "") << "job " << job;
        if (job % 50 == 49) {
            LeakCheck const so_far;  // this process has no children between jobs
        }
    }
}

class ManyRanks : public RunTest, public testing::WithParamInterface<Mpi> {};

TEST_P(ManyRanks, OnOneHostAgainAndAgain) {
    // MPICH's ranks do not yield to each other: 64 of them take minutes on few cores.
    if (GetParam().name == "mpich" && setting("SINEW_TEST_LONG", 0) == 0)
        GTEST_SKIP() << "in run_endurance_test/long; fewer ranks in run_layout_test";
    long const times = setting("SINEW_TEST_REPEAT", 1);
    for (long time = 0; time < times; ++time) {
        auto const ended = run({"-n", "64", GetParam().program, "layout"}, {}, Seconds(300));
        ASSERT_EQ(ended.code, 0) << "time " << time << "\n" << ended.err;
        ASSERT_EQ(count_of(ended.out, " of 64 on node 0\n"), 64U);
        RecordProperty(text("seconds_", time), text(ended.seconds.count()));
    }
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ManyRanks);
INSTANTIATE_TEST_SUITE_P(Mpis, ManyRanks, testing::ValuesIn(mpis()),
                         [](auto const& mpi) { return mpi.param.name; });

// Reads tagged lines of two ranks and removes the tags.
class Untag {
public:
    void read(std::string_view piece) {
        rest_ += piece;
        std::size_t from = 0;
        for (auto end = rest_.find('\n'); end != rest_.npos; end = rest_.find('\n', from)) {
            take(std::string_view(rest_).substr(from, end + 1 - from));
            from = end + 1;
        }
        rest_.erase(0, from);
    }
    bool well = true;
    std::size_t bytes[2] = {0, 0};

private:
    void take(std::string_view line) {
        constexpr std::string_view tag = "]<stdout>: ";
        int const rank = line.size() > 1 ? line[1] - '0' : -1;
        if (rank < 0 || rank > 1 || line.substr(2, tag.size()) != tag) {
            well = false;
            return;
        }
        line.remove_prefix(2 + tag.size());
        bytes[rank] += line.size();
        well = well && line == line_of(rank, 'o', next_[rank]++);
    }
    std::string rest_;
    int next_[2] = {0, 0};
};

TEST_F(Endurance, MuchOutputArrivesWholeAtASlowReader) {
    auto const mib = static_cast<std::size_t>(setting("SINEW_TEST_OUTPUT_MIB", 64));
    Untag untag;
    std::size_t total = 0;
    Launched::Setting setting;
    setting.read = [&](std::string_view piece) {
        untag.read(piece);
        total += piece.size();
        // Reads slowly at first, so that all buffers on the way are full.
        if (total < 8 << 20) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    };
    auto const ended = run({"--tag-output", "-n", "2", rank_program(), "flood", text(mib / 2)},
                           std::move(setting), Seconds(200 + 2 * static_cast<double>(mib)));
    EXPECT_EQ(ended.code, 0) << ended.err;
    EXPECT_TRUE(untag.well) << "each line is the next one of its rank";
    for (auto const bytes : untag.bytes) EXPECT_GE(bytes, (mib / 2) << 20);
    RecordProperty("seconds", text(ended.seconds.count()));
}

}  // namespace
}  // namespace sinew::testing_support
