// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/objects/base64.hpp"
#include "k8s/objects/event_view.hpp"
#include "k8s/objects/job_view.hpp"
#include "k8s/objects/pod_view.hpp"
#include "k8s/objects/timestamp.hpp"

namespace sinew::k8s {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

Json pod(char const* status) {
    Json made{{"metadata",
               {{"name", "a-3"}, {"labels", {{"batch.kubernetes.io/job-completion-index", "3"}}}}}};
    made["status"] = Json::parse(status);
    return made;
}

TEST(PodView, SaysWhyAPodDoesNotRun) {
    EXPECT_EQ(PodView(pod(R"({"phase":"Running"})")).trouble(), "");
    EXPECT_EQ(PodView(pod("{}")).index, 3);
    EXPECT_EQ(
        PodView(
            pod(R"({"phase":"Pending","initContainerStatuses":[{"name":"sinew","state":{"waiting":
                  {"reason":"ImagePullBackOff","message":"no such image"}}}]})"))
            .trouble(),
        "ImagePullBackOff (init container sinew): no such image");
    EXPECT_EQ(
        PodView(pod(R"({"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False",
                  "reason":"Unschedulable","message":"0/4 nodes"}]})"))
            .trouble(),
        "Unschedulable: 0/4 nodes");
    PodView const killed(
        pod(R"({"phase":"Failed","containerStatuses":[{"name":"main","state":{"terminated":
                  {"reason":"OOMKilled","exitCode":137,"finishedAt":"2026-11-24T10:00:00Z"}}}]})"));
    EXPECT_EQ(killed.trouble(), "OOMKilled (container main, exit code 137)");
    EXPECT_EQ(killed.container("main")->exit_code, 137);
    EXPECT_TRUE(killed.container("main")->finished);
    PodView const evicted(
        pod(R"({"phase":"Failed","conditions":[{"type":"DisruptionTarget","status":"True",
                  "reason":"PreemptionByScheduler","message":"make room"}]})"));
    ASSERT_NE(evicted.disruption(), nullptr);
    EXPECT_EQ(evicted.trouble(), "PreemptionByScheduler: make room");
}

TEST(JobView, ReadsConditionsThatAreTrue) {
    JobView const job(Json::parse(R"({"spec":{"parallelism":4,"completions":4,"suspend":true},
        "status":{"active":2,"ready":1,"failed":1,"completedIndexes":"0-1","conditions":[
        {"type":"Failed","status":"True","reason":"PodFailurePolicy","message":"m"},
        {"type":"Complete","status":"False"}]}})"));
    EXPECT_TRUE(job.has_failed());
    EXPECT_FALSE(job.complete());
    EXPECT_EQ(job.condition("Failed")->reason, "PodFailurePolicy");
    EXPECT_EQ(job.completions, 4);
    EXPECT_TRUE(job.suspended);
}

TEST(EventView, ReadsBothApis) {
    EventView const core(Json::parse(R"({"type":"Warning","reason":"Failed","message":"m","count":3,
        "involvedObject":{"kind":"Pod","name":"a"},"source":{"component":"kubelet"},
        "lastTimestamp":"2026-11-24T10:00:00Z"})"));
    EventView const modern(
        Json::parse(R"({"type":"Warning","reason":"Failed","note":"m","series":{"count":3,
        "lastObservedTime":"2026-11-24T10:00:00.000000Z"},"regarding":{"kind":"Pod","name":"a"},
        "reportingController":"kubelet"})"));
    for (auto const& event : {core, modern}) {
        EXPECT_TRUE(event.warning());
        EXPECT_EQ(event.message, "m");
        EXPECT_EQ(event.object_name, "a");
        EXPECT_EQ(event.count, 3);
        EXPECT_EQ(event.reporter, "kubelet");
        ASSERT_TRUE(event.last_seen);
        EXPECT_EQ(format_timestamp(*event.last_seen), "2026-11-24T10:00:00Z");
    }
}

// Each member in turn is replaced by values of other types.
void vary(Json& all, Json& part, std::function<void(Json const&)> const& look) {
    for (auto const& other :
         {Json(nullptr), Json(7), Json(-1.5), Json("x"), Json(true), Json::array(), Json::object(),
          Json({1, "x"}), Json(std::uint64_t(-1))}) {
        auto const before = std::exchange(part, other);
        look(all);
        part = before;
    }
    if (part.is_structured())
        for (auto& each : part) vary(all, each, look);
}

TEST(Views, TakeWrongTypesForAbsent) {
    auto all = pod(R"({"phase":"Failed","podIPs":[{"ip":"1"}],"startTime":"2026-11-24T10:00:00Z",
        "conditions":[{"type":"DisruptionTarget","status":"True","lastTransitionTime":"x"}],
        "containerStatuses":[{"name":"a","ready":true,"restartCount":1,"state":{"terminated":{"exitCode":1}},
        "lastState":{"terminated":{"exitCode":2}}}],"active":1,"failed":2})");
    all["spec"] = {{"nodeName", "n"}, {"parallelism", 2}, {"completions", 3}};
    all["involvedObject"] = {{"kind", "Pod"}};
    all["series"] = {{"count", 2}};
    int looked = 0;
    vary(all, all, [&](Json const& object) {
        std::ignore = PodView(object).trouble();
        std::ignore = JobView(object).complete();
        std::ignore = EventView(object).warning();
        ++looked;
    });
    EXPECT_GT(looked, 200);
}

TEST(Timestamp, ReadsRfc3339Only) {
    auto const at = [](char const* text) {
        auto const found = parse_timestamp(text);
        return found ? format_timestamp(*found) : "none";
    };
    EXPECT_EQ(at("2026-11-24T21:36:04.123456789Z"), "2026-11-24T21:36:04Z");
    EXPECT_EQ(at("2026-11-24t21:36:04+01:30"), "2026-11-24T20:06:04Z");
    for (auto const* wrong :
         {"", "2026", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-11-24T24:00:00Z",
          "2026-11-24T21:36:04", "2026-11-24T21:36:04.Z", "2026-11-24T21:36:04ZZ",
          "2026-11-24 21:36:04Z", "9999-01-01T00:00:00Z"})
        EXPECT_EQ(at(wrong), "none") << wrong;
}

TEST(Base64, ReadsAndWrites) {
    std::vector<std::string> const all{"", "a", "ab", "abc", std::string("\0\xff", 2)};
    for (auto const& bytes : all) EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    EXPECT_EQ(to_base64("sinew"), "c2luZXc=");
    EXPECT_EQ(from_base64("c2lu\nZXc=\n"), "sinew");
    for (auto const* wrong : {"a", "abc", "a=bc", "====", "ab!d", "c2luZXc=c2luZXc="})
        EXPECT_EQ(from_base64(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace sinew::k8s
