// SPDX-License-Identifier: Apache-2.0
#include "k8s/credentials/credential.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <thread>

#include "k8s/client.hpp"
#include "k8s/credentials/exec_credential.hpp"
#include "src/base/text.hpp"
#include "tests/k8s/scripted_server.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::k8s {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_support::HttpPeer;
using testing_support::HttpQuestion;
using testing_support::message_of;
using testing_support::refusal;
using testing_support::ScriptedServer;
using testing_support::TempFolder;

// A plugin that is a shell script, and a server that accepts the tokens in `good`.
class PluginTest : public testing::Test {
protected:
    Client client(std::string const& script, ClientOptions options = {}) {
        auto const path = folder.write("plugin", "#!/bin/sh\n" + script);
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        Configuration configuration;
        configuration.ns = "ml";
        configuration.cluster.server = server.url();
        configuration.user.name = "ann";
        configuration.user.exec.emplace();
        auto& plugin = *configuration.user.exec;
        plugin.api_version = "client.authentication.k8s.io/v1";
        plugin.command = path;
        plugin.args = {"arg 1"};
        plugin.env = {{"EXTRA", "value"}, {"FOLDER", folder.path()}};
        plugin.install_hint = "install it so";
        plugin.provide_cluster_info = true;
        plugin.interactive = ExecPlugin::Interactive::never;
        return Client(configuration, std::move(options));
    }
    int runs() const {
        std::ifstream file(folder.path() / "runs");
        return int(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
    }
    static std::string prints(std::string const& status) {
        return "echo >> $FOLDER/runs\nn=$(wc -l < $FOLDER/runs)\n"
               "echo "
               "'{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\","
               "\"status\":{" +
               status + "}}'\n";
    }

    TempFolder folder;
    std::atomic<int> refuse_first = 0;
    std::vector<std::string> shown;
    ScriptedServer server{[this](HttpQuestion const& question, HttpPeer& peer) {
        shown.push_back(question.headers.at("authorization"));
        if (refuse_first-- > 0) return void(peer.answer(401, "{}"));
        peer.answer(200, "{}");
    }};
};

TEST_F(PluginTest, GivesATokenThatIsKeptUntilItIsRefused) {
    auto calls = client(prints("\"token\":\"t'$n'\""));
    calls.call(get(jobs, "a"));
    calls.call(get(jobs, "a"));
    EXPECT_EQ(runs(), 1);
    refuse_first = 1;
    calls.call(get(jobs, "a"));
    EXPECT_THAT(shown, testing::ElementsAre("Bearer t1", "Bearer t1", "Bearer t1", "Bearer t2"));
}

TEST_F(PluginTest, RunsAgainWhenTheTokenHasExpired) {
    auto calls =
        client(prints("\"token\":\"t'$n'\",\"expirationTimestamp\":\"2020-01-01T00:00:00Z\""));
    calls.call(get(jobs, "a"));
    calls.call(get(jobs, "a"));
    EXPECT_THAT(shown, testing::ElementsAre("Bearer t1", "Bearer t2"));
}

TEST_F(PluginTest, IsToldWhatItNeeds) {
    auto calls = client("echo \"$1 $EXTRA $KUBERNETES_EXEC_INFO\" > $FOLDER/told\n" +
                        prints("\"token\":\"t\""));
    calls.call(get(jobs, "a"));
    std::ifstream file(folder.path() / "told");
    std::string told;
    std::getline(file, told);
    ASSERT_TRUE(told.starts_with("arg 1 value {")) << told;
    auto const info = Json::parse(told.substr(12));
    EXPECT_EQ(info["spec"]["cluster"]["server"], server.url());
    EXPECT_EQ(info["spec"]["interactive"], false);
}

TEST_F(PluginTest, ItsErrorsAreShownAndItsOutputIsNot) {
    auto failing = client("echo secret; echo 'session expired' >&2; exit 3");
    EXPECT_THAT(
        message_of<UsageError>([&] { failing.call(get(jobs, "a")); }),
        AllOf(HasSubstr("exit code 3"), HasSubstr("session expired"), Not(HasSubstr("secret"))));
    auto wrong = client("echo secret");
    EXPECT_THAT(message_of<UsageError>([&] { wrong.call(get(jobs, "a")); }),
                AllOf(HasSubstr("no ExecCredential"), Not(HasSubstr("secret"))));
    auto endless = client("yes");
    EXPECT_THAT(message_of<UsageError>([&] { endless.call(get(jobs, "a")); }),
                HasSubstr("more than"));
    auto absent = client("");
    std::filesystem::remove(folder.path() / "plugin");
    EXPECT_THAT(message_of<UsageError>([&] { absent.call(get(jobs, "a")); }),
                AllOf(HasSubstr("cannot be started"), HasSubstr("install it so")));
    EXPECT_TRUE(shown.empty());
}

TEST_F(PluginTest, HasADeadlineAndLeavesNothingBehind) {
    ClientOptions options;
    options.plugin_timeout = 500ms;
    auto calls = client("sleep 60 & echo $! > $FOLDER/pid; wait", options);
    EXPECT_THAT(message_of<Timeout>([&] { calls.call(get(jobs, "a")); }),
                HasSubstr("did not end within"));
    calls.run_until([] { return false; }, std::chrono::steady_clock::now() + 100ms);
    std::ifstream file(folder.path() / "pid");
    pid_t pid = 0;
    file >> pid;
    ASSERT_GT(pid, 0);
    for (int i = 0; i < 100 && ::kill(pid, 0) == 0; ++i) std::this_thread::sleep_for(50ms);
    std::ifstream state(text("/proc/", pid, "/stat"));
    std::string words;
    std::getline(state, words);
    EXPECT_TRUE(words.empty() || words.find(") Z ") != words.npos) << words;
}

TEST(ExecCredential, RefusesHalves) {
    ExecPlugin plugin;
    plugin.api_version = "client.authentication.k8s.io/v1";
    auto const with = [&](char const* status) {
        return refusal([&] {
            parse_exec_credential(text(R"({"kind":"ExecCredential","apiVersion":")",
                                       plugin.api_version, R"(","status":)", status, "}"),
                                  plugin);
        });
    };
    EXPECT_THAT(with("{}"), HasSubstr("neither a token"));
    EXPECT_THAT(with("7"), HasSubstr("neither a token"));
    EXPECT_THAT(with(R"({"clientKeyData":"x"})"), HasSubstr("only one of"));
    EXPECT_THAT(with(R"({"token":"x","expirationTimestamp":"soon"})"), HasSubstr("RFC 3339"));
    EXPECT_THAT(refusal([&] {
                    parse_exec_credential(R"({"kind":"ExecCredential","apiVersion":"v0"})", plugin);
                }),
                HasSubstr("ExecCredential of v0"));
}

}  // namespace
}  // namespace sinew::k8s
