// SPDX-License-Identifier: Apache-2.0
// The timeline of all ranks: a file that other programs can read, with times of one clock.
#include <sinew/comm/timeline.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>
#include <sinew/sgd/gradient_buckets.hpp>

#include "tests/comm/ranks.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::tests {
namespace {

using testing::HasSubstr;
using testing_support::TempFolder;
using Json = nlohmann::json;

Json parsed(std::filesystem::path const& file) {
    std::ifstream in(file);
    return Json::parse(in);
}

/// The events with a duration of one rank whose names begin with `name`, in the order of the file.
std::vector<Json> events_of(Json const& timeline, int rank, std::string const& name) {
    std::vector<Json> all;
    for (Json const& event : timeline.at("traceEvents"))
        if (event.at("ph") == "X" && event.at("pid") == rank &&
            event.at("name").get<std::string>().rfind(name, 0) == 0)
            all.push_back(event);
    return all;
}

/// The name of the track on which an event is.
std::string track_of(Json const& timeline, Json const& event) {
    for (Json const& other : timeline.at("traceEvents"))
        if (other.at("name") == "thread_name" && other.at("pid") == event.at("pid") &&
            other.at("tid") == event.at("tid"))
            return other.at("args").at("name");
    return "none";
}

double begin_of(Json const& event) { return event.at("ts"); }
double end_of(Json const& event) {
    return event.at("ts").get<double>() + event.at("dur").get<double>();
}

TEST(Timeline, HasTheCallsOfAllRanksOnOneClock) {
    TempFolder const folder;
    auto const file = folder.path() / "timeline.json";
    on_ranks(3, [&](Communicator& comm) {
        std::vector<float> values(1000), many(100000);
        comm.allreduce(values, sum);  // before: not recorded
        Timeline timeline(comm, file);
        comm.allreduce(values, sum);
        std::this_thread::sleep_for(std::chrono::milliseconds(comm.rank() == 1 ? 20 : 0));
        comm.barrier();
        comm.allreduce(many, max);
        for (int i = 0; i < 5; ++i) {  // short ones begin one after the other, and end together
            Request first = comm.iallreduce(std::span(values).first(2), sum);
            Request second = comm.iallreduce(std::span(values).subspan(2, 2), sum);
            second.wait();
            first.wait();
        }
        Communicator part = comm.split(comm.rank() / 2);
        part.broadcast(values);
        timeline.write();
    });
    Json const timeline = parsed(file);
    double last_arrival = 0, first_end = 1e30;
    for (int rank = 0; rank < 3; ++rank) {
        EXPECT_EQ(events_of(timeline, rank, "allreduce(f32 x 1000, sum)").size(), 1u);
        EXPECT_EQ(events_of(timeline, rank, "allreduce(f32 x 100000, max)").size(), 1u);
        EXPECT_EQ(events_of(timeline, rank, "allreduce(f32 x 2, sum)").size(), 10u);
        auto const barriers = events_of(timeline, rank, "barrier");
        ASSERT_EQ(barriers.size(), 1u);
        EXPECT_EQ(track_of(timeline, barriers[0]), "world");
        last_arrival = std::max(last_arrival, begin_of(barriers[0]));
        first_end = std::min(first_end, end_of(barriers[0]));
        auto const broadcasts = events_of(timeline, rank, "broadcast(f32 x 1000");
        ASSERT_EQ(broadcasts.size(), 1u);
        EXPECT_THAT(track_of(timeline, broadcasts[0]), HasSubstr("world/"));
        for (Json const& event : events_of(timeline, rank, "")) {
            EXPECT_GE(begin_of(event), 0);
            EXPECT_GE(event.at("dur").get<double>(), 0);
        }
        auto const& of_rank = timeline.at("otherData").at("ranks").at(static_cast<unsigned>(rank));
        EXPECT_EQ(of_rank.at("rank"), rank);
        EXPECT_EQ(of_rank.at("dropped_events"), 0);
        EXPECT_LT(std::abs(of_rank.at("clock_offset_ns").get<double>()), 50e6);  // one clock
    }
    // Nobody leaves a barrier before the last has come; offsets are wrong by less than that.
    EXPECT_GT(first_end, last_arrival - 10e3);
    auto const waited = events_of(timeline, 0, "barrier");
    EXPECT_GT(waited[0].at("dur").get<double>(), 5e3);
}

TEST(Timeline, HasTheBucketsOfGradients) {
    TempFolder const folder;
    auto const file = folder.path() / "timeline.json";
    on_ranks(2, [&](Communicator& comm) {
        Timeline timeline(comm, file);
        std::vector<float> first(5000), second(5000);
        GradientBuckets buckets(comm, {Gradient("a \"quoted\"\n", first), Gradient("b", second)},
                                {.bucket_bytes = 1000, .first_bucket_bytes = 1000});
        for (int step = 0; step < 3; ++step) {
            buckets.ready(1);
            buckets.ready(0);
            buckets.finish();
        }
        timeline.write();
        timeline.write();  // again, with what has happened since
    });
    Json const timeline = parsed(file);
    for (int rank = 0; rank < 2; ++rank) {
        EXPECT_EQ(events_of(timeline, rank, "gradient bucket 0 of 2 ('b' to 'b')").size(), 3u);
        EXPECT_EQ(events_of(timeline, rank, "gradient bucket 1 of 2 ('a \"quoted\"?'").size(), 3u);
        EXPECT_EQ(events_of(timeline, rank, "finish").size(), 3u);
        EXPECT_EQ(events_of(timeline, rank, "allreduce(f32 x 5").size(), 6u);
    }
}

TEST(Timeline, SaysOnAllRanksThatTheFileCannotBeWritten) {
    on_ranks(2, [](Communicator& comm) {
        Timeline timeline(comm, "/no/such/folder/timeline.json");
        EXPECT_THAT(thrown_by<Error>([&] { timeline.write(); }),
                    HasSubstr(comm.rank() == 0 ? "/no/such/folder/timeline.json cannot be written"
                                               : "rank 0 of 2"));
        EXPECT_THAT(thrown_by<UsageError>([&] { Timeline(comm, "other.json"); }),
                    HasSubstr("has a Timeline already"));
        comm.barrier();
    });
}

TEST(Timeline, EndsWithItsObject) {
    TempFolder const folder;
    auto const file = folder.path() / "timeline.json";
    on_ranks(2, [&](Communicator& comm) {
        { Timeline const first(comm, file); }
        comm.barrier();
        Timeline second(comm, file);
        second.write();
    });
    EXPECT_TRUE(events_of(parsed(file), 0, "barrier").empty());
}

}  // namespace
}  // namespace sinew::tests
