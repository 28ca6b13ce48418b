// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/strategic_merge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/refusal.hpp"

namespace sinew::k8s {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing_support::refusal;

Json base() {
    return Json::parse(R"({"metadata":{"labels":{"a":"1","b":"2"}},"spec":{
        "containers":[{"name":"main","image":"x","env":[{"name":"A","value":"1"},{"name":"B","value":"2"}],
                       "volumeMounts":[{"mountPath":"/a","name":"v"}],"command":["x","y"],
                       "resources":{"limits":{"cpu":"1"}}},{"name":"side"}],
        "volumes":[{"name":"v","emptyDir":{}}],"tolerations":[{"key":"a"}],"nodeSelector":{"k":"v"}}})");
}

Json merged(char const* patch) { return strategic_merge(base(), Json::parse(patch)); }

TEST(StrategicMerge, MergesMapsAndListsWithKeys) {
    auto const pod = merged(R"({"metadata":{"labels":{"b":null,"c":"3"}},"spec":{
        "containers":[{"name":"main","env":[{"name":"B","value":"3"},{"name":"C","value":"4"}],
                       "volumeMounts":[{"mountPath":"/b","name":"w"}],"command":["z"],
                       "resources":{"limits":{"gpu":"8"}}}],
        "volumes":[{"name":"w","configMap":{"name":"c"}}],"tolerations":[{"key":"b"}]}})");
    EXPECT_EQ(pod["metadata"]["labels"], Json({{"a", "1"}, {"c", "3"}}));
    auto const& main = pod["spec"]["containers"][0];
    EXPECT_EQ(main["image"], "x");
    EXPECT_EQ(main["env"], Json::parse(R"([{"name":"A","value":"1"},{"name":"B","value":"3"},
                                           {"name":"C","value":"4"}])"));
    EXPECT_EQ(main["volumeMounts"].size(), 2u);
    EXPECT_EQ(main["command"], Json({"z"}));
    EXPECT_EQ(main["resources"]["limits"], Json({{"cpu", "1"}, {"gpu", "8"}}));
    EXPECT_EQ(pod["spec"]["containers"][1]["name"], "side");
    EXPECT_EQ(pod["spec"]["volumes"].size(), 2u);
    EXPECT_EQ(pod["spec"]["tolerations"], Json::parse(R"([{"key":"b"}])"));
}

TEST(StrategicMerge, ObeysDirectives) {
    EXPECT_EQ(
        merged(
            R"({"spec":{"containers":[{"name":"side","$patch":"delete"}]}})")["spec"]["containers"]
            .size(),
        1u);
    EXPECT_EQ(
        merged(R"({"spec":{"volumes":[{"$patch":"replace"},{"name":"n"}]}})")["spec"]["volumes"],
        Json::parse(R"([{"name":"n"}])"));
    EXPECT_EQ(
        merged(R"({"spec":{"nodeSelector":{"$patch":"replace","x":"y"}}})")["spec"]["nodeSelector"],
        Json({{"x", "y"}}));
    EXPECT_FALSE(merged(R"({"spec":{"nodeSelector":{"$patch":"delete"}}})")["spec"].contains(
        "nodeSelector"));
    EXPECT_EQ(merged("{}"), base());
}

TEST(StrategicMerge, RefusesWithThePath) {
    EXPECT_THAT(refusal([] { merged(R"({"spec":{"containers":[{"image":"x"}]}})"); }),
                HasSubstr("at spec.containers has an element without name"));
    EXPECT_THAT(refusal([] { merged(R"({"spec":{"containers":["x"]}})"); }),
                HasSubstr("list of maps"));
    EXPECT_THAT(refusal([] { merged(R"({"spec":{"$patch":"burn"}})"); }), HasSubstr("burn"));
    EXPECT_THAT(refusal([] { merged(R"({"spec":{"$setElementOrder/env":[]}})"); }),
                HasSubstr("not supported"));
    EXPECT_THAT(refusal([] { merged("[]"); }), HasSubstr("must be a map"));
}

}  // namespace
}  // namespace sinew::k8s
