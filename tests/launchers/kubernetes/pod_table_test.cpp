// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/pod_table.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "launchers/kubernetes/job_follower.hpp"

namespace sinew::launch::kubernetes {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using Json = nlohmann::json;
using Stage = PodTable::Stage;

Json pod(int index, std::string const& uid) {
    return {{"metadata",
             {{"name", "j-" + std::to_string(index) + "-" + uid},
              {"uid", uid},
              {"labels", {{"batch.kubernetes.io/job-completion-index", std::to_string(index)}}}}},
            {"spec", Json::object()},
            {"status", {{"phase", "Pending"}}}};
}

Json with_state(Json pod, char const* phase, Json state) {
    pod["spec"]["nodeName"] = "node-1";
    pod["status"]["phase"] = phase;
    pod["status"]["containerStatuses"] =
        Json::array({Json{{"name", "sinew"}, {"state", std::move(state)}}});
    return pod;
}

Json running(Json pod) {
    return with_state(std::move(pod), "Running", {{"running", Json::object()}});
}

Json unschedulable(Json pod) {
    pod["status"]["conditions"] = Json::array({Json{{"type", "PodScheduled"},
                                                    {"status", "False"},
                                                    {"reason", "Unschedulable"},
                                                    {"message", "0/4 nodes are available"}}});
    return pod;
}

Json event(char const* type, char const* reason, std::string const& uid) {
    return {{"type", type},
            {"reason", reason},
            {"message", "m"},
            {"involvedObject", {{"kind", "Pod"}, {"name", "p"}, {"uid", uid}}}};
}

void update(PodTable& table, Json const& json) { table.update(k8s::PodView(json)); }

Json ended(Json pod, int code) {
    return with_state(std::move(pod), "Failed",
                      {{"terminated", {{"exitCode", code}, {"reason", "Error"}}}});
}

TEST(PodTable, ThePodOfAnIndexIsTheNewestThatIsThere) {
    PodTable table("j", 1);
    EXPECT_EQ(table.pod(0), nullptr);
    update(table, running(pod(0, "z")));
    table.joined(0);
    update(table, pod(0, "a"));
    EXPECT_EQ(table.stage(0), Stage::waiting);
    update(table, running(pod(0, "z")));  // news of the one before does not make it the newest
    EXPECT_EQ(table.pod(0)->uid, "a");
    table.remove(k8s::PodView(pod(0, "a")));
    EXPECT_EQ(table.stage(0), Stage::joined);
    table.remove(k8s::PodView(pod(0, "a")));
    table.remove(k8s::PodView(pod(0, "z")));
    EXPECT_EQ(table.stage(0), Stage::absent);
    EXPECT_TRUE(table.empty());
}

TEST(PodTable, AnAgentThatWasAskedToEndIsNoTroubleButItsReasonIs) {
    PodTable table("j", 2);
    update(table, ended(pod(0, "a"), 75));
    EXPECT_THAT(table.troubles(), IsEmpty());
    update(table, ended(pod(1, "b"), 74));
    EXPECT_THAT(table.troubles(), ElementsAre("j-1: Error (container sinew, exit code 74)"));
    auto evicted = ended(pod(0, "a"), 75);
    evicted["status"]["reason"] = "Evicted";
    update(table, evicted);
    EXPECT_THAT(table.troubles(), Contains("j-0: Evicted"));
    auto deleting = running(pod(0, "a"));
    deleting["status"]["conditions"] = Json::array({Json{{"type", "DisruptionTarget"},
                                                         {"status", "True"},
                                                         {"reason", "PreemptionByScheduler"},
                                                         {"message", "m"}}});
    update(table, deleting);
    table.joined(0);
    EXPECT_THAT(table.troubles(), Contains("j-0: PreemptionByScheduler: m"));
}

TEST(PodTable, CountsHowFarPodsHaveCome) {
    PodTable table("j", 4);
    EXPECT_EQ(table.status(), "4 pods: 4 not created");
    update(table, pod(0, "a"));
    update(table, running(pod(1, "b")));
    update(table,
           with_state(pod(2, "c"), "Pending", {{"waiting", {{"reason", "ContainerCreating"}}}}));
    EXPECT_EQ(table.status(),
              "4 pods: 1 not created, 1 waiting for a node, 1 scheduled, 1 running");
    table.note(k8s::EventView(event("Normal", "Pulling", "c")));
    table.joined(1);
    EXPECT_EQ(table.stage(2), Stage::pulling);
    EXPECT_EQ(table.stage(1), Stage::joined);
    EXPECT_FALSE(table.all_joined());
}

TEST(PodTable, TellsATroubleOfSeveralPodsOnce) {
    PodTable table("j", 3);
    for (int index : {0, 1, 2}) update(table, unschedulable(pod(index, std::to_string(index))));
    auto const lines = table.new_troubles();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_EQ(lines[0].substr(0, 19), "j-0 and 2 more pods");
    EXPECT_NE(lines[0].find("0/4 nodes are available"), std::string::npos);
    EXPECT_THAT(table.new_troubles(), IsEmpty());
    update(table, running(pod(2, "2")));
    EXPECT_THAT(table.new_troubles(), IsEmpty());  // fewer pods, the same trouble
}

TEST(PodTable, TellsOfWarningsAndOfWhatKeepsPodsFromBeingMade) {
    PodTable table("j", 2);
    update(table, pod(0, "a"));
    table.note(k8s::EventView(event("Warning", "FailedMount", "a")));
    auto of_job = event("Warning", "FailedCreate", "x");
    of_job["involvedObject"] = {{"kind", "Job"}, {"name", "j"}, {"uid", "x"}};
    table.note(k8s::EventView(of_job));
    EXPECT_THAT(table.new_troubles(), ElementsAre("j-0: FailedMount: m", "j: FailedCreate: m"));
}

TEST(PodTable, KnowsTheReplacementOfAPod) {
    PodTable table("j", 1);
    update(table, with_state(pod(0, "old"), "Failed", {{"terminated", {{"exitCode", 75}}}}));
    EXPECT_EQ(table.stage(0), Stage::ended);
    update(table, running(pod(0, "new")));
    EXPECT_EQ(table.stage(0), Stage::running);
    EXPECT_EQ(table.pod(0)->uid, "new");
    update(table, with_state(pod(0, "old"), "Failed", {{"terminated", {{"exitCode", 75}}}}));
    EXPECT_EQ(table.pod(0)->uid, "new");
    table.remove(k8s::PodView(pod(0, "new")));
    table.remove(k8s::PodView(pod(0, "old")));
    EXPECT_TRUE(table.empty());
}

TEST(ParseSummary, TakesWhatTheRootWritesAndNothingElse) {
    auto const end = parse_summary(R"({"exit_code":3,"cause":"rank 1 failed","restarts":2})");
    ASSERT_TRUE(end);
    EXPECT_EQ(end->exit_code, 3);
    EXPECT_EQ(end->cause, "rank 1 failed");
    EXPECT_EQ(end->restarts, 2);
    for (char const* words : {"", "x", "[]", "{}", R"({"exit_code":"3"})", R"({"exit_code":-1})",
                              R"({"exit_code":256})", R"({"exit_code":1e99})", R"({"exit_code":3)"})
        EXPECT_FALSE(parse_summary(words)) << words;
    EXPECT_EQ(parse_summary(R"({"exit_code":0,"cause":7,"restarts":-1})")->cause, "");
}

}  // namespace
}  // namespace sinew::launch::kubernetes
