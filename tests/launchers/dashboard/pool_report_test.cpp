// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/pool_report.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "launchers/dashboard/operation_report.hpp"
#include "launchers/dashboard/pool_reports.hpp"
#include "src/comm/operation_reporter.hpp"
#include "src/pool/master/report_line.hpp"

namespace sinew::launch::dashboard {
namespace {

using nlohmann::json;
using testing::HasSubstr;

Time at(int seconds) { return Time(std::chrono::seconds(seconds)); }

pool::PoolFigures figures() {
    pool::PoolFigures made;
    made.number = 3;
    made.rank = 5;
    made.counts.submitted = 100;
    made.counts.done = 60;
    made.counts.failed = 1;
    made.counts.dropped = 2;
    made.counts.retried = 7;
    made.counts.queued = 30;
    made.counts.held = 7;
    made.counts.deaths = 1;
    made.counts.started = 4;
    made.counts.workers = 4;
    made.counts.ready = 3;
    made.busy = std::chrono::milliseconds(1500);
    made.losses.push_back({.time = at(1000),
                           .worker = "worker 2",
                           .why = "pid 7: killed by signal 9 (Killed)",
                           .tasks = {{"square", 12, false}, {"square", 13, true}},
                           .more = 4});
    return made;
}

// What a pool writes is what the dashboard reads.
TEST(PoolReport, ArrivesAsItWasSent) {
    auto const line = pool::report_line(figures());
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    auto const pool = parse_pool_report(line);
    EXPECT_EQ(pool.number, 3U);
    EXPECT_EQ(pool.rank, 5);
    EXPECT_EQ(pool.submitted, 100U);
    EXPECT_EQ(pool.done, 60U);
    EXPECT_EQ(pool.failed, 1U);
    EXPECT_EQ(pool.dropped, 2U);
    EXPECT_EQ(pool.retried, 7U);
    EXPECT_EQ(pool.queued, 30U);
    EXPECT_EQ(pool.held, 7U);
    EXPECT_EQ(pool.deaths, 1U);
    EXPECT_EQ(pool.started, 4U);
    EXPECT_EQ(pool.workers, 4U);
    EXPECT_EQ(pool.ready, 3U);
    EXPECT_EQ(pool.busy_seconds, 1.5);
    EXPECT_FALSE(pool.ended);
    ASSERT_EQ(pool.losses.size(), 1U);
    EXPECT_EQ(pool.losses[0].time, at(1000));
    EXPECT_EQ(pool.losses[0].why, "pid 7: killed by signal 9 (Killed)");
    ASSERT_EQ(pool.losses[0].tasks.size(), 2U);
    EXPECT_EQ(pool.losses[0].tasks[1].function, "square");
    EXPECT_EQ(pool.losses[0].tasks[1].index, 13U);
    EXPECT_TRUE(pool.losses[0].tasks[1].failed);
    EXPECT_EQ(pool.losses[0].more, 4U);
}

TEST(PoolReport, IsBoundedWhateverIsInIt) {
    auto made = figures();
    made.losses.clear();
    for (int i = 0; i < 8; ++i) {
        made.losses.push_back({.time = at(1000),
                               .worker = std::string(10'000, '\xff'),
                               .why = std::string(100'000, '\1'),
                               .tasks = {}});
        for (int j = 0; j < 8; ++j)
            made.losses.back().tasks.push_back({std::string(10'000, '"'), 1, false});
    }
    auto const line = pool::report_line(made);
    EXPECT_LE(line.size(), longest_report);
    EXPECT_FALSE(parse_pool_report(line).losses.empty()) << "the last ones are kept";
}

TEST(PoolReport, IsRefusedIfAnythingIsWrong) {
    auto const good = json::parse(pool::report_line(figures()));
    EXPECT_THROW(parse_pool_report(""), UsageError);
    EXPECT_THROW(parse_pool_report("[]"), UsageError);
    EXPECT_THROW(parse_pool_report("{"), UsageError);
    EXPECT_THROW(parse_pool_report(std::string(20, '[')), UsageError);
    EXPECT_THROW(parse_pool_report(good.dump() + std::string(longest_report, ' ')), UsageError);
    for (auto const& [key, value] : good.items()) {
        auto bad = good;
        bad.erase(key);
        if (key != "rank") {
            EXPECT_THROW(parse_pool_report(bad.dump()), UsageError) << key;
        }
        for (json const& other :
             {json("x"), json(-1), json(1e300), json::array({1}), json(nullptr)}) {
            bad[key] = other;
            if (key == "busy_seconds" && other.is_number() && other != -1) continue;
            EXPECT_THROW(parse_pool_report(bad.dump()), UsageError) << key << " = " << other;
        }
    }
}

TEST(OperationReport, ArrivesAsItWasSent) {
    auto const line =
        detail::operation_line(3, "world/12.0", 17, true, "allreduce(f32 x 1000, sum)");
    ASSERT_TRUE(is_operation_report(line));
    EXPECT_FALSE(is_operation_report(pool::report_line(figures())));
    auto const report = parse_operation_report(line);
    EXPECT_EQ(report.rank, 3);
    EXPECT_EQ(report.collective.operation, "allreduce(f32 x 1000, sum)");
    EXPECT_EQ(report.collective.communicator, "world/12.0");
    EXPECT_EQ(report.collective.number, 17U);
    EXPECT_TRUE(report.collective.inside);
    for (std::string const bad :
         {"", "{", "[]", "{\"operation\":1}",
          "{\"operation\":\"x\",\"communicator\":\"y\",\"number\":-1,\"inside\":true,\"rank\":0}",
          "{\"operation\":\"x\",\"communicator\":\"y\",\"number\":1,\"inside\":true,\"rank\":"
          "1000000}"})
        EXPECT_THROW(parse_operation_report(bad), UsageError) << bad;
    EXPECT_THROW(parse_operation_report(line + std::string(5000, ' ')), UsageError);
}

TEST(PoolReports, MakeAnEventOfEachLostWorker) {
    State state;
    PoolReports reports(state);
    reports.take("node-a", 12, pool::report_line(figures()), at(1000));
    reports.take("node-a", 12, pool::report_line(figures()), at(1001));
    auto events = state.events_from(1);
    ASSERT_EQ(events.size(), 1U) << "the death was reported twice";
    EXPECT_THAT(events[0].text, HasSubstr("killed by signal 9 (Killed)"));
    EXPECT_THAT(events[0].text,
                HasSubstr("square #12 (executed again), square #13 (failed) and 4 more"));
    reports.take("node-a", 12, "nonsense", at(1002));
    EXPECT_THAT(state.events_from(2).at(0).text,
                HasSubstr("Process 12 on node-a has sent not a report"));
    auto const pools = state.view().pools.value;
    EXPECT_TRUE(pools->contains("node-a/12/3")) << "the pid is what the kernel says";
    reports.gone("node-a", 12);
    EXPECT_TRUE(state.view().pools.value->at("node-a/12/3").ended);
}

}  // namespace
}  // namespace sinew::launch::dashboard
