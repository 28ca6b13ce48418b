// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/state.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "launchers/dashboard/metrics.hpp"
#include "launchers/dashboard/state_json.hpp"

namespace sinew::launch::dashboard {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

Time at(double seconds) {
    return Time(std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds)));
}

Pool pool_with(std::uint64_t done) {
    Pool pool;
    pool.number = 1;
    pool.node = "node-a";
    pool.pid = 12;
    pool.submitted = 1000;
    pool.done = done;
    return pool;
}

class DashboardState : public testing::Test {
protected:
    json changes_now() { return json::parse(changes(state, cursor, at(2000))); }
    State state;
    Cursor cursor;
};

TEST_F(DashboardState, IsWholeAtFirst) {
    auto const all = changes_now();
    for (auto const* key : {"schema", "version", "now", "job", "nodes", "ranks", "pools", "queue",
                            "gpus", "leases", "events", "log"})
        EXPECT_TRUE(all.contains(key)) << key;
    EXPECT_EQ(all["schema"], 1);
}

TEST_F(DashboardState, GivesOnlyWhatHasChanged) {
    state.set(Job{.name = "train"});
    changes_now();
    state.set({{.name = "node-a", .host = "a"}},
              {{.rank = 0, .node = 0, .pid = 7, .state = RankState::lost, .detail = "gone"}});
    auto const change = changes_now();
    EXPECT_FALSE(change.contains("job"));
    EXPECT_FALSE(change.contains("pools"));
    EXPECT_EQ(change["ranks"][0]["state"], "lost");
    EXPECT_EQ(change["ranks"][0]["detail"], "gone");
    EXPECT_EQ(changes_now().size(), 3U) << "schema, version, now";
}

TEST_F(DashboardState, GivesEachEventAndLineOnce) {
    state.add_event(Level::error, "rank 3 was lost", at(1000));
    state.add_output(3, 2, "one\ntwo\n", at(1000));
    auto first = changes_now();
    ASSERT_EQ(first["log"].size(), 2U);
    EXPECT_EQ(first["log"][1]["text"], "two");
    EXPECT_EQ(first["log"][1]["stream"], "stderr");
    EXPECT_EQ(first["events"][0]["level"], "error");
    state.add_output(3, 1, "three", at(1001));
    auto second = changes_now();
    ASSERT_EQ(second["log"].size(), 1U);
    EXPECT_EQ(second["log"][0]["number"], 3);
    EXPECT_FALSE(second.contains("events"));
}

TEST_F(DashboardState, KeepsTheLastLinesAndCountsThoseItMissed) {
    std::string many;
    for (int i = 0; i < 10'000; ++i) many += std::to_string(i) + "\n";
    state.add_output(0, 1, many, at(1000));
    auto const log = changes_now()["log"];
    ASSERT_EQ(log.size(), State::most_lines);
    EXPECT_EQ(log.back()["text"], "9999");
    EXPECT_EQ(log.back()["number"], 10'000);
    EXPECT_EQ(log.front()["number"], 10'001 - State::most_lines);
}

TEST_F(DashboardState, SplitsAnyOutputIntoItsLines) {
    struct Case {
        std::string bytes;
        std::vector<std::string> lines;
    };
    for (auto const& [bytes, lines] :
         {Case{"", {""}}, Case{"\n", {""}}, Case{"\n\n", {"", ""}}, Case{"a", {"a"}},
          Case{"a\n", {"a"}}, Case{"\na", {"", "a"}}, Case{"a\n\nb\n", {"a", "", "b"}}}) {
        state.add_output(0, 1, bytes, at(1000));
        std::vector<std::string> found;
        auto const change = changes_now();
        for (auto const& line : change["log"]) found.push_back(line["text"]);
        EXPECT_EQ(found, lines) << testing::PrintToString(bytes);
    }
}

TEST_F(DashboardState, CutsLongLinesAndKeepsEmptyOnes) {
    state.add_output(0, 1, "\n" + std::string(1 << 20, 'x'), at(1000));
    auto const log = changes_now()["log"];
    ASSERT_EQ(log.size(), 2U);
    EXPECT_EQ(log[0]["text"], "");
    EXPECT_EQ(log[1]["text"].get<std::string>().size(), State::most_line);
}

TEST_F(DashboardState, IsJsonWhateverRanksPrint) {
    state.add_output(0, 1, std::string("\xff\xfe\0\x01\"\\</script>", 15), at(1000));
    state.add_event(Level::info, "\xc3", at(1000));
    EXPECT_EQ(changes_now()["log"].size(), 1U);
}

TEST_F(DashboardState, BoundsTheNumberOfEventsAndPools) {
    for (std::size_t i = 0; i < State::most_events + 10; ++i)
        state.add_event(Level::info, std::to_string(i), at(1000));
    for (std::uint64_t number = 1; number <= State::most_pools + 10; ++number) {
        auto pool = pool_with(0);
        pool.number = number;
        pool.ended = number % 2 == 0;
        state.set(pool, at(1000));
    }
    auto const all = changes_now();
    EXPECT_EQ(all["events"].size(), State::most_events);
    EXPECT_EQ(all["pools"].size(), State::most_pools);
    std::size_t running = 0;
    for (auto const& pool : all["pools"]) running += pool["ended"] ? 0 : 1;
    EXPECT_EQ(running, State::most_pools / 2 + 5) << "those that have ended are forgotten first";
}

TEST_F(DashboardState, ComputesTheRateOfAPool) {
    state.set(pool_with(0), at(1000));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    state.set(pool_with(100), at(1000));
    EXPECT_GT(state.view().pools.value->at("node-a/12/1").rate, 0);
    state.end_pools_of("node-b", 12);
    EXPECT_FALSE(state.view().pools.value->at("node-a/12/1").ended);
    state.end_pools_of("node-a", 12);
    EXPECT_TRUE(state.view().pools.value->at("node-a/12/1").ended);
    EXPECT_EQ(state.view().pools.value->at("node-a/12/1").rate, 0);
}

TEST_F(DashboardState, MayBeWrittenAndReadAtOnce) {
    std::atomic<bool> stop = false;
    std::thread writer([&] {
        for (int i = 0; i < 2000; ++i) {
            state.add_output(i, 1, "line\nline\n", at(1000));
            state.set(pool_with(static_cast<std::uint64_t>(i)), at(1000));
            state.set({}, std::vector<Rank>(8));
        }
        stop = true;
    });
    std::uint64_t before = 0;
    while (!stop) {
        auto const change = changes_now();
        EXPECT_GE(change["version"], before);
        before = change["version"];
        metrics_text(state.view(), at(2000));
    }
    writer.join();
    changes_now();
    EXPECT_EQ(cursor.next_line, 4001U);
}

TEST(DashboardMetrics, HaveAFamilyForEachFigure) {
    State state;
    state.set(Job{.name = "a\"b\\c\nd",
                  .id = "i",
                  .backend = "local",
                  .state = "running",
                  .started = at(1000),
                  .restarts = 2});
    state.set({{.name = "n"}, {.name = "m", .lost = true}},
              {{.rank = 0}, {.rank = 1, .state = RankState::failed}});
    state.set(pool_with(400), at(1000));
    auto const text = metrics_text(state.view(), at(1060));
    EXPECT_THAT(text, HasSubstr("sinew_job_info{name=\"a\\\"b\\\\c\\nd\",id=\"i\""));
    EXPECT_THAT(text, HasSubstr("sinew_job_uptime_seconds 60\n"));
    EXPECT_THAT(text, HasSubstr("sinew_job_restarts_total 2\n"));
    EXPECT_THAT(text, HasSubstr("sinew_ranks{state=\"failed\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("sinew_nodes{state=\"lost\"} 1\n"));
    EXPECT_THAT(text,
                HasSubstr("# TYPE sinew_pool_tasks_done_total "
                          "counter\nsinew_pool_tasks_done_total{pool=\"node-a/12/1\"} 400\n"));
    EXPECT_THAT(text, Not(HasSubstr("sinew_gpus"))) << "nothing is known of them";
    state.set(std::vector<Gpu>{{.host = "n", .index = 0, .name = "H100", .holder = "job"}});
    state.set(Queue{.jobs = {{.id = "1", .state = "waiting"}}, .counts = {{"waiting", 501}}});
    state.set(std::vector<Lease>{});
    auto const server = metrics_text(state.view(), at(1060));
    EXPECT_THAT(server, HasSubstr("sinew_gpus{state=\"held\"} 1\n"));
    EXPECT_THAT(server, HasSubstr("sinew_queue_jobs{state=\"waiting\"} 501\n"));
    EXPECT_THAT(server, HasSubstr("sinew_leases 0\n"));
}

// Each line is a comment or a sample, and each family is described once, before its samples.
TEST(DashboardMetrics, KeepTheFormat) {
    State state;
    state.set(pool_with(1), at(1000));
    std::istringstream lines(metrics_text(state.view(), at(1060)));
    std::set<std::string> described;
    std::string family;
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with("# HELP ")) {
            family = line.substr(7, line.find(' ', 7) - 7);
            EXPECT_TRUE(described.insert(family).second) << line;
        } else if (line.starts_with("# TYPE ")) {
            EXPECT_TRUE(line.starts_with("# TYPE " + family + " ")) << line;
        } else {
            EXPECT_TRUE(line.starts_with(family)) << line;
            EXPECT_THAT(line, testing::ContainsRegex("^[a-z_]+(\\{.*\\})? [-+.e0-9]+$"));
        }
    }
    EXPECT_GT(described.size(), 10U);
}

}  // namespace
}  // namespace sinew::launch::dashboard
