// SPDX-License-Identifier: Apache-2.0
#include "launchers/docker/container.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "launchers/common/quantity.hpp"
#include "launchers/docker/host.hpp"

namespace sinew::launch::docker {
namespace {

using nlohmann::json;

ContainerSpec some_spec() {
    ContainerSpec spec;
    spec.socket = "/run/docker.sock";
    spec.name = "sinew-train-0";
    spec.hostname = "docker-0";
    spec.image = "train:7";
    spec.command = {"/opt/sinew-host/bin/sinew", "agent"};
    spec.env = {"A=b c"};
    spec.mounts = {{.source = "/data", .target = "/in", .read_only = true}};
    spec.network = "sinew-train";
    spec.nano_cpus = 1'500'000'000;
    spec.memory = 1 << 30;
    spec.shm = 1 << 20;
    spec.gpus = {"2", "3"};
    spec.labels = {{job_label, "train"}};
    return spec;
}

TEST(ContainerSpec, SurvivesItsText) {
    auto const spec = some_spec();
    auto const text = spec_text(spec);
    EXPECT_EQ(text.find('\n'), std::string::npos);
    EXPECT_EQ(spec_text(parse_spec(text)), text);
    EXPECT_EQ(create_body(parse_spec(text)), create_body(spec));
    for (auto const* wrong : {"", "{", "{}", "[]", R"({"socket": 3})"})
        EXPECT_THROW(parse_spec(wrong), UsageError) << wrong;
}

TEST(ContainerSpec, BecomesWhatTheEngineApiCallsIt) {
    auto const body = json::parse(create_body(some_spec()));
    EXPECT_EQ(body["Image"], "train:7");
    EXPECT_EQ(body["Entrypoint"], json::array({"/opt/sinew-host/bin/sinew"}));
    EXPECT_EQ(body["Cmd"], json::array({"agent"}));
    EXPECT_EQ(body["Tty"], false);
    EXPECT_EQ(body["StdinOnce"], true);
    auto const& host = body["HostConfig"];
    EXPECT_EQ(host["AutoRemove"], true);
    EXPECT_EQ(host["NanoCpus"], 1'500'000'000);
    EXPECT_EQ(host["Memory"], 1 << 30);
    EXPECT_EQ(host["Mounts"][0]["Target"], "/in");
    EXPECT_EQ(host["Mounts"][0]["ReadOnly"], true);
    EXPECT_EQ(host["DeviceRequests"][0]["DeviceIDs"], json::array({"2", "3"}));
    EXPECT_EQ(host["DeviceRequests"][0]["Capabilities"][0][0], "gpu");
    EXPECT_FALSE(host["DeviceRequests"][0].contains("Count"));
}

TEST(ContainerSpec, AsksForNothingThatIsNotWanted) {
    ContainerSpec spec;
    spec.command = {"true"};
    spec.network = "host";
    auto const body = json::parse(create_body(spec));
    EXPECT_FALSE(body.contains("Hostname"));
    EXPECT_FALSE(body.contains("User"));
    for (auto const* key : {"DeviceRequests", "Memory", "NanoCpus", "ShmSize", "Privileged"})
        EXPECT_FALSE(body["HostConfig"].contains(key)) << key;
    spec.all_gpus = true;
    EXPECT_EQ(json::parse(create_body(spec))["HostConfig"]["DeviceRequests"][0]["Count"], -1);
}

TEST(BindMount, IsParsed) {
    EXPECT_EQ(parse_bind_mount("/a", "x"), (BindMount{.source = "/a", .target = "/a"}));
    EXPECT_EQ(parse_bind_mount("/a/:/b/", "x"), (BindMount{.source = "/a", .target = "/b"}));
    EXPECT_EQ(parse_bind_mount("/a:ro", "x"),
              (BindMount{.source = "/a", .target = "/a", .read_only = true}));
    EXPECT_EQ(parse_bind_mount("/a:/b:rw", "x"), (BindMount{.source = "/a", .target = "/b"}));
    for (auto const* wrong : {"", "a", "/a:b", "/a:", "/a:/b:/c", ":ro"})
        EXPECT_THROW(parse_bind_mount(wrong, "x"), UsageError) << wrong;
}

TEST(BindMount, ShowsAFolderOnlyAtItsOwnPath) {
    std::vector<BindMount> const mounts{{.source = "/a", .target = "/a"},
                                        {.source = "/b", .target = "/c"}};
    for (auto const* seen : {"/a", "/a/x"}) EXPECT_TRUE(is_seen(seen, mounts)) << seen;
    for (auto const* other : {"", "/", "/ab", "/b", "/c"})
        EXPECT_FALSE(is_seen(other, mounts)) << other;
    EXPECT_TRUE(is_seen("/x", {{.source = "/", .target = "/"}}));
}

TEST(Quantity, HasTheValueThatItsUnitSays) {
    EXPECT_DOUBLE_EQ(amount_of("2"), 2);
    EXPECT_DOUBLE_EQ(amount_of("500m"), 0.5);
    EXPECT_DOUBLE_EQ(amount_of("1.5Gi"), 1.5 * (1 << 30));
    EXPECT_DOUBLE_EQ(amount_of("4G"), 4e9);
    for (auto const* wrong : {"", "x", "1x", "-1"}) EXPECT_EQ(amount_of(wrong), 0) << wrong;
}

TEST(Owner, HasEndedOnlyIfThatIsCertain) {
    auto const own = owner_of_process();
    EXPECT_FALSE(has_ended(own));
    auto const space = own.substr(0, own.find('/', own.find("pid:")));
    EXPECT_TRUE(has_ended(space + "/4194305/1"));  // above the largest process number
    EXPECT_TRUE(has_ended(own + "1"));             // another process had the number
    for (auto const* other : {"", "elsewhere/pid:[1]/1/1"}) EXPECT_FALSE(has_ended(other)) << other;
    EXPECT_FALSE(has_ended(space + "/x/1"));
    EXPECT_FALSE(has_ended(space + "/1"));
}

}  // namespace
}  // namespace sinew::launch::docker
