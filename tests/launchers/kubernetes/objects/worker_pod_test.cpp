// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/objects/worker_pod.hpp"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/refusal.hpp"

namespace sinew::launch::kubernetes {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using Json = nlohmann::json;

// The pod that asks, as an API server shows it.
Json own() {
    return Json::parse(R"({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "train-0-x7k2p", "uid": "u-1", "namespace": "ml"},
        "spec": {
            "nodeSelector": {"pool": "cpu"}, "tolerations": [{"key": "team", "operator": "Exists"}],
            "imagePullSecrets": [{"name": "registry"}], "serviceAccountName": "sinew-pods",
            "volumes": [
                {"name": "job", "secret": {"secretName": "train"}},
                {"name": "claim-0", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "kube-api-access-1", "projected": {"sources": []}},
                {"name": "scratch", "emptyDir": {}}],
            "containers": [
                {"name": "side", "image": "side:1"},
                {"name": "sinew", "image": "train:7", "imagePullPolicy": "Always",
                 "command": ["sinew", "agent"],
                 "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"},
                         {"name": "SINEW_ROOT", "value": "10.0.0.1:7077"},
                         {"name": "SINEW_POD_NAME", "value": "train-0-x7k2p"}],
                 "envFrom": [{"configMapRef": {"name": "settings"}}],
                 "resources": {"requests": {"cpu": "2", "memory": "1Gi"},
                               "limits": {"memory": "1Gi"}},
                 "volumeMounts": [{"name": "job", "mountPath": "/run/sinew/job"},
                                  {"name": "claim-0", "mountPath": "/persistent"},
                                  {"name": "kube-api-access-1", "mountPath": "/var/run/secrets"}]}]}})");
}

WorkerRequest request() {
    return {.group = "pool-abcde",
            .command = {"/app/train", "--x"},
            .folder = "/app",
            .env = {{"B", "3"}},
            .image = "",
            .cpu = 0,
            .gpu = 0,
            .memory_mib = 0};
}

std::vector<std::string> names(Json const& list) {
    std::vector<std::string> found;
    for (auto const& one : list) found.push_back(one["name"]);
    return found;
}

std::string value_of(Json const& env, std::string const& name) {
    for (auto const& one : env)
        if (one["name"] == name) return one.value("value", "(from elsewhere)");
    return "(none)";
}

TEST(WorkerPod, IsLikeThePodThatAsks) {
    auto const pod = worker_pod(own(), request(), "pool-abcde-0-fghij");
    auto const& spec = pod["spec"];
    auto const& container = spec["containers"][0];
    EXPECT_EQ(pod["kind"], "Pod");
    EXPECT_EQ(pod["metadata"]["name"], "pool-abcde-0-fghij");
    EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["uid"], "u-1");
    EXPECT_EQ(container["image"], "train:7");
    EXPECT_EQ(container["imagePullPolicy"], "Always");
    EXPECT_EQ(container["command"], Json::array({"/app/train", "--x"}));
    EXPECT_EQ(container["workingDir"], "/app");
    EXPECT_EQ(spec["nodeSelector"], own()["spec"]["nodeSelector"]);
    EXPECT_EQ(spec["tolerations"], own()["spec"]["tolerations"]);
    EXPECT_EQ(container["resources"], own()["spec"]["containers"][1]["resources"]);
    EXPECT_EQ(container["envFrom"], own()["spec"]["containers"][1]["envFrom"]);
    EXPECT_THAT(names(spec["volumes"]), IsSupersetOf({"job", "claim-0", "shm", "tmp"}));
    EXPECT_EQ(value_of(container["env"], "A"), "1");
    EXPECT_EQ(value_of(container["env"], "B"), "3");
}

TEST(WorkerPod, HasNothingThatIsForThePodThatAsksAlone) {
    auto const pod = worker_pod(own(), request(), "w");
    auto const& spec = pod["spec"];
    auto const& container = spec["containers"][0];
    EXPECT_FALSE(spec["automountServiceAccountToken"]);
    EXPECT_FALSE(spec.contains("serviceAccountName"));
    EXPECT_THAT(names(spec["volumes"]), Not(Contains("kube-api-access-1")));
    EXPECT_THAT(names(spec["volumes"]), Not(Contains("scratch")));
    for (auto const& volume : spec["volumes"])
        if (volume["name"] == "job") {
            EXPECT_EQ(volume["secret"]["secretName"], "pool-abcde");
        }
    EXPECT_EQ(value_of(container["env"], "SINEW_ROOT"), "(none)");
    EXPECT_EQ(value_of(container["env"], "SINEW_POD_NAME"), "(from elsewhere)");
    EXPECT_EQ(value_of(container["env"], "SINEW_NODE_CONFIG"), "/run/sinew/job/config");
}

TEST(WorkerPod, HasWhatIsAskedFor) {
    auto wish = request();
    wish.image = "other:1";
    wish.cpu = 4;
    wish.gpu = 1;
    wish.memory_mib = 512;
    auto const pod = worker_pod(own(), wish, "w");
    auto const& container = pod["spec"]["containers"][0];
    EXPECT_EQ(container["image"], "other:1");
    EXPECT_EQ(container["resources"]["requests"]["cpu"], "4");
    EXPECT_EQ(container["resources"]["limits"]["memory"], "512Mi");
    EXPECT_EQ(container["resources"]["limits"]["nvidia.com/gpu"], "1");
}

TEST(WorkerPod, RefusesWhatIsNoPod) {
    for (char const* text : {"{}", R"({"spec":{"containers":[]}})",
                             R"({"spec":{"containers":"x"}})", R"({"spec":{"containers":[7]}})"})
        EXPECT_THAT(
            testing_support::refusal([&] { worker_pod(Json::parse(text), request(), "w"); }),
            HasSubstr("without containers"))
            << text;
}

TEST(WorkerSecret, BelongsToThePodThatAsks) {
    auto const secret = worker_secret(own(), "pool-abcde", "{}");
    EXPECT_EQ(secret["stringData"]["config"], "{}\n");
    EXPECT_EQ(secret["metadata"]["ownerReferences"][0]["name"], "train-0-x7k2p");
}

}  // namespace
}  // namespace sinew::launch::kubernetes
