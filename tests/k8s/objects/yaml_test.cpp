// SPDX-License-Identifier: Apache-2.0
#include "k8s/objects/yaml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/refusal.hpp"

namespace sinew::k8s {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing_support::refusal;

TEST(Yaml, WritesObjectsAsPeopleDo) {
    auto const object = Json::parse(R"({"spec":{"template":{"spec":{"containers":[
        {"image":"x:1","name":"main","args":["-n","4","yes"],"env":[{"value":"1e3","name":"A"}]}],
        "volumes":[]}}},"metadata":{"name":"a","labels":{"on":"true"}},"kind":"Job",
        "apiVersion":"batch/v1"})");
    EXPECT_EQ(to_yaml(object), R"(apiVersion: batch/v1
kind: Job
metadata:
  name: a
  labels:
    "on": "true"
spec:
  template:
    spec:
      containers:
      - name: main
        args:
        - "-n"
        - "4"
        - "yes"
        env:
        - name: A
          value: "1e3"
        image: x:1
      volumes: []
)");
    EXPECT_EQ(to_yaml(std::vector<Json>{{{"a", 1}}, {{"b", nullptr}}}), "a: 1\n---\nb: null\n");
}

TEST(Yaml, EveryStringComesBackAsItself) {
    for (std::string const text : {"",
                                   " ",
                                   "yes",
                                   "No",
                                   "y",
                                   "off",
                                   "TRUE",
                                   "null",
                                   "~",
                                   "Null",
                                   "1",
                                   "-1",
                                   "+1",
                                   "0x1",
                                   "0o7",
                                   "0b1",
                                   "0777",
                                   "1_000",
                                   "1e3",
                                   "1.5",
                                   ".5",
                                   ".inf",
                                   "-.Inf",
                                   ".nan",
                                   "12:30:45",
                                   "2026-11-24",
                                   "=",
                                   "<<",
                                   "!x",
                                   "&a",
                                   "*a",
                                   "#c",
                                   "a #c",
                                   "a: b",
                                   "a:",
                                   ":a",
                                   "-",
                                   "- a",
                                   "?",
                                   "? a",
                                   "|",
                                   ">",
                                   "%x",
                                   "@x",
                                   "`x",
                                   "{a",
                                   "[a",
                                   "a,b",
                                   "'a'",
                                   "\"a\"",
                                   "\\",
                                   "a\tb",
                                   "a\nb",
                                   "a\n",
                                   "\na",
                                   "a\n\n",
                                   "a\n\nb\n",
                                   " a\nb",
                                   "a \nb",
                                   "a\r\nb",
                                   "\x01\x7f",
                                   "\xc2\x85",
                                   "\xe2\x80\xa8",
                                   "\xef\xbb\xbfx",
                                   "\xf0\x9f\x98\x80",
                                   "gr\xc3\xbc\xc3\x9f",
                                   "---",
                                   "...",
                                   "trailing ",
                                   "/bin/sh",
                                   "a=b",
                                   "$(X)",
                                   "#!/bin/sh\nset -e\n  echo \"x\"\n",
                                   "3.10",
                                   "1.2.3",
                                   "10.0.0.1:80",
                                   "e5",
                                   "0e0",
                                   "1e400"}) {
        auto const read = from_yaml(to_yaml(Json{{"key", text}, {text + "k", 1}}), "x");
        ASSERT_EQ(read.size(), 1u);
        EXPECT_EQ(read[0]["key"], Json(text)) << to_yaml(Json{{"key", text}});
        auto const listed = from_yaml(to_yaml(Json{{{"a", {text, text}}}}), "x");
        EXPECT_EQ(listed[0][0]["a"][1], Json(text));
    }
}

TEST(Yaml, ReadsScalarsAsKubectlDoes) {
    auto const read = from_yaml(
        "mode: 0444\nhex: 0x10\nyes: no\nfloat: 1e3\nnothing:\ntext: '0444'\ntag: !!str 1\n"
        "base: &b {x: 1, y: 2}\nmore:\n  <<: *b\n  y: 3\n---\n# nothing\n---\n[1, {\"a\": null}]\n",
        "x.yaml");
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0]["mode"], 292);
    EXPECT_EQ(read[0]["hex"], 16);
    EXPECT_EQ(read[0]["yes"], false);
    EXPECT_EQ(read[0]["float"], 1000.0);
    EXPECT_EQ(read[0]["nothing"], nullptr);
    EXPECT_EQ(read[0]["text"], "0444");
    EXPECT_EQ(read[0]["tag"], "1");
    EXPECT_EQ(read[0]["more"], Json({{"x", 1}, {"y", 3}}));
    EXPECT_EQ(read[1], Json::parse(R"([1, {"a": null}])"));
}

TEST(Yaml, RefusesWithThePlace) {
    EXPECT_THAT(refusal([] { from_yaml("a: 1\nb: [", "x.yaml"); }), HasSubstr("x.yaml:2:"));
    EXPECT_THAT(refusal([] { from_yaml("a: 1\nb: 2\na: 3\n", "x.yaml"); }),
                testing::AllOf(HasSubstr("x.yaml:3:1"), HasSubstr("the key a is there twice")));
    EXPECT_THAT(refusal([] { from_yaml("[a]: 1", "x.yaml"); }), HasSubstr("key of a map"));
    EXPECT_THAT(refusal([] { from_yaml(std::string(300, '['), "x.yaml"); }), HasSubstr("x.yaml"));
    EXPECT_THAT(refusal([] { from_yaml("a: \xf6\n", "x.yaml"); }), HasSubstr("not UTF-8"));
    EXPECT_THAT(refusal([] { from_yaml("\xf6: a\n", "x.yaml"); }), HasSubstr("not UTF-8"));
    EXPECT_THAT(refusal([] { from_yaml(",ke", "x.yaml"); }), HasSubstr("x.yaml:1:1"));
    std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
    for (int i = 1; i < 10; ++i) {
        auto const before = std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
        for (int j = 0; j < 10; ++j) bomb += (j ? ", *a" : "*a") + before;
        bomb += "]\n";
    }
    EXPECT_THAT(refusal([&] { from_yaml(bomb, "x.yaml"); }), HasSubstr("more than 100000 values"));
}

}  // namespace
}  // namespace sinew::k8s
