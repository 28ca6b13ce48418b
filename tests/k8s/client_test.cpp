// SPDX-License-Identifier: Apache-2.0
#include "k8s/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "k8s/api_error.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"
#include "tests/k8s/scripted_server.hpp"
#include "tests/support/message_of.hpp"
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
using testing_support::ScriptedServer;

Configuration configuration_of(ScriptedServer const& server) {
    Configuration made;
    made.source = "context test of a kubeconfig";
    made.context = "test";
    made.ns = "ml";
    made.cluster.name = "test";
    made.cluster.server = server.url();
    made.user.name = "ann";
    made.user.token = "sesame";
    return made;
}

std::string status(int code, std::string const& reason, std::string const& message,
                   Json const& details = Json::object()) {
    return Json{{"kind", "Status"},   {"code", code},       {"reason", reason},
                {"message", message}, {"details", details}, {"status", "Failure"}}
        .dump();
}

Json job(std::string const& name) { return {{"metadata", {{"name", name}}}, {"spec", {{"x", 1}}}}; }

TEST(Client, CreatesWithCredentialsAndOneConnectionServesAllCalls) {
    std::vector<HttpQuestion> questions;
    ScriptedServer server([&](HttpQuestion const& question, HttpPeer& peer) {
        questions.push_back(question);
        peer.answer(201, question.body);
    });
    Client client(configuration_of(server));
    auto const made = client.call(create(jobs, job("a")));
    client.call(create(secrets, job("b"), "other"));
    ASSERT_EQ(questions.size(), 2u);
    EXPECT_EQ(questions[0].method, "POST");
    EXPECT_EQ(questions[0].path, "/apis/batch/v1/namespaces/ml/jobs");
    EXPECT_EQ(questions[1].path, "/api/v1/namespaces/other/secrets");
    EXPECT_EQ(questions[0].headers["authorization"], "Bearer sesame");
    EXPECT_EQ(questions[0].headers.count("accept-encoding"), 0u);
    EXPECT_EQ(made["apiVersion"], "batch/v1");
    EXPECT_EQ(made["kind"], "Job");
    EXPECT_EQ(server.connections(), 1);
}

TEST(Client, SendsEachKindOfCallAsTheApiWantsIt) {
    std::vector<HttpQuestion> questions;
    ScriptedServer server([&](HttpQuestion const& question, HttpPeer& peer) {
        questions.push_back(question);
        peer.answer(200, R"({"kind":"x"})");
    });
    Client client(configuration_of(server));
    client.call(get(nodes, "node-1"));
    client.call(patch(jobs, "a", PatchType::json, Json::array()));
    client.call(patch(pod_groups, "a", PatchType::strategic_merge, {{"spec", 1}}));
    DeleteOptions options;
    options.grace_period = 5s;
    options.uid = "u";
    client.call(remove(jobs, "a", options));
    client.call(create(access_reviews, Json::object()));
    EXPECT_EQ(questions[0].path, "/api/v1/nodes/node-1");
    EXPECT_EQ(questions[1].headers["content-type"], "application/json-patch+json");
    EXPECT_EQ(questions[2].path, "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/ml/podgroups/a");
    EXPECT_EQ(questions[2].headers["content-type"], "application/strategic-merge-patch+json");
    EXPECT_EQ(questions[3].method, "DELETE");
    auto const body = Json::parse(questions[3].body);
    EXPECT_EQ(body["propagationPolicy"], "Background");
    EXPECT_EQ(body["gracePeriodSeconds"], 5);
    EXPECT_EQ(body["preconditions"]["uid"], "u");
    EXPECT_EQ(questions[4].path, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
}

TEST(Client, NamesCannotLeaveTheirPlaceInThePath) {
    ScriptedServer server([](HttpQuestion const&, HttpPeer& peer) { peer.answer(200, "{}"); });
    Client client(configuration_of(server));
    for (auto const* name : {"", "..", "a/b", "../../secrets"})
        EXPECT_THROW(client.call(remove(jobs, name)), UsageError) << name;
    EXPECT_EQ(server.connections(), 0);
}

// Pages of two, whose list is forgotten once at the second page.
TEST(Client, ListsAllPagesAndStartsAgainIfTheListIsForgotten) {
    int questions = 0;
    ScriptedServer server([&](HttpQuestion const& question, HttpPeer& peer) {
        ++questions;
        EXPECT_EQ(question.query.at("labelSelector"), "job-name in (a,b)");
        if (question.query.contains("continue"))
            return void(peer.answer(410, status(410, "Expired", "too old")));
        Json list{{"metadata", {{"resourceVersion", "7"}}}, {"items", {{{"n", 1}}, {{"n", 2}}}}};
        if (question.query.contains("limit")) list["metadata"]["continue"] = "page2";
        else list["items"].push_back({{"n", 3}});
        peer.answer(200, list.dump());
    });
    Client client(configuration_of(server));
    auto const found = client.call(list(pods, {.ns = "", .label_selector = "job-name in (a,b)"}));
    EXPECT_EQ(found["items"].size(), 3u);
    EXPECT_EQ(found["metadata"]["resourceVersion"], "7");
    EXPECT_EQ(questions, 3);
}

TEST(Client, RepeatsWhatMayHelpAndWaitsAsLongAsTheServerSays) {
    int questions = 0;
    ScriptedServer server([&](HttpQuestion const&, HttpPeer& peer) {
        switch (++questions) {
            case 1:
                peer.answer(429, "busy", "Retry-After: 1\r\n");
                break;
            case 2:
                peer.answer(503, status(503, "ServiceUnavailable", "starting"));
                break;
            case 3:
                peer.close();
                break;
            default:
                peer.answer(200, R"({"kind":"Job"})");
        }
    });
    Client client(configuration_of(server));
    auto const began = std::chrono::steady_clock::now();
    EXPECT_EQ(client.call(get(jobs, "a"))["kind"], "Job");
    EXPECT_GE(std::chrono::steady_clock::now() - began, 1s);
    EXPECT_EQ(questions, 4);
}

TEST(Client, DoesNotRepeatWhatCannotHelp) {
    int questions = 0;
    ScriptedServer server([&](HttpQuestion const&, HttpPeer& peer) {
        ++questions;
        peer.answer(400, status(400, "BadRequest", "container is waiting to start"));
    });
    Client client(configuration_of(server));
    EXPECT_THAT(message_of<ApiError>([&] { client.log({.pod = "p"}); }),
                AllOf(HasSubstr("read the log of pods p in namespace ml"), HasSubstr("400"),
                      HasSubstr("container is waiting to start")));
    EXPECT_EQ(questions, 1);
}

// The server makes the object, and its answer is lost; what it answers to the second request.
struct LostAnswer {
    explicit LostAnswer(bool ours, int get_status = 200)
        : server([this, ours, get_status](HttpQuestion const& question, HttpPeer& peer) {
              methods += question.method + " ";
              if (question.method == "POST" && object.is_null()) {
                  object = Json::parse(question.body);
                  if (!ours) object["metadata"]["annotations"]["sinew/create-id"] = "another";
                  return peer.close();
              }
              if (question.method == "POST")
                  return void(peer.answer(409, status(409, "AlreadyExists", "exists")));
              if (question.method == "GET" && get_status != 200)
                  return void(peer.answer(get_status, status(get_status, "Forbidden", "no")));
              peer.answer(200, object.dump());
          }) {}
    Json object;
    std::string methods;
    ScriptedServer server;
};

TEST(Client, ACreateWhoseAnswerWasLostHasSucceededIfTheObjectIsOurs) {
    LostAnswer ours(true);
    Client client(configuration_of(ours.server));
    EXPECT_EQ(client.call(create(jobs, job("a")))["metadata"]["name"], "a");
    EXPECT_EQ(ours.methods, "POST POST GET ");

    LostAnswer secret(true, 403);  // who may create secrets may often not read them
    Client without_rights(configuration_of(secret.server));
    EXPECT_EQ(without_rights.call(create(secrets, job("a")))["metadata"]["name"], "a");
    EXPECT_EQ(secret.methods, "POST POST GET PATCH ");

    LostAnswer foreign(false);
    Client other(configuration_of(foreign.server));
    try {
        other.call(create(jobs, job("a")));
        ADD_FAILURE() << "is not ours";
    } catch (ApiError const& error) {
        EXPECT_TRUE(error.already_exists());
    }
}

TEST(Client, ADeletionWhoseAnswerWasLostHasSucceeded) {
    int questions = 0;
    ScriptedServer server([&](HttpQuestion const&, HttpPeer& peer) {
        if (++questions == 1) return peer.close();
        peer.answer(404, status(404, "NotFound", "not found", {{"name", "a"}, {"kind", "jobs"}}));
    });
    Client client(configuration_of(server));
    EXPECT_EQ(client.call(remove(jobs, "a"))["status"], "Success");
    EXPECT_THAT(message_of<ApiError>([&] { client.call(remove(jobs, "a")); }),
                HasSubstr("cannot delete jobs.batch a in namespace ml: it does not exist"));
}

TEST(Client, ErrorsSayWhatToDo) {
    int code = 0;
    std::string body;
    ScriptedServer server([&](HttpQuestion const&, HttpPeer& peer) { peer.answer(code, body); });
    Client client(configuration_of(server));
    auto const error = [&](int with, std::string const& as) {
        code = with;
        body = as;
        return message_of<ApiError>([&] { client.call(create(jobs, job("a"))); });
    };
    EXPECT_THAT(error(403, status(403, "Forbidden", "User \"ann\" cannot create")),
                AllOf(HasSubstr("forbidden: create jobs.batch in namespace ml"),
                      HasSubstr("kubectl apply -n ml -f k8s/manifests/role.yaml")));
    auto in_pod = configuration_of(server);
    in_pod.context.clear();
    Client of_pod(in_pod);
    EXPECT_THAT(message_of<ApiError>([&] { of_pod.call(create(jobs, job("a"))); }),
                HasSubstr("kubectl apply -n ml -f k8s/manifests/pods-role.yaml"));
    EXPECT_THAT(error(403, status(403, "Forbidden", "exceeded quota: gpus, requested: 8")),
                AllOf(HasSubstr("quota of namespace ml is exceeded"), HasSubstr("requested: 8"),
                      Not(HasSubstr("role.yaml"))));
    EXPECT_THAT(error(401, status(401, "Unauthorized", "no")),
                AllOf(HasSubstr("the token of user ann"), HasSubstr("context test of a kubeconfig"),
                      Not(HasSubstr("sesame"))));
    EXPECT_THAT(error(404, status(404, "NotFound", "x", {{"kind", "namespaces"}, {"name", "ml"}})),
                HasSubstr("kubectl create namespace ml"));
    EXPECT_THAT(error(404, "404 page not found"),
                AllOf(HasSubstr("does not have jobs.batch/v1"), HasSubstr("404 page not found")));
    EXPECT_THAT(error(409, status(409, "AlreadyExists", "x")), HasSubstr("of this name exists"));
    EXPECT_THAT(
        error(422,
              status(422, "Invalid", "bad",
                     {{"causes", {{{"field", "spec.completions"}, {"message", "must be >= 0"}}}}})),
        HasSubstr("the object is invalid: spec.completions: must be >= 0"));
    EXPECT_THAT(error(418, "\x1b[31mtea\npot"), HasSubstr("answers 418:  [31mtea pot"));
}

TEST(Client, AServerThatIsNotThereIsNamedSoon) {
    Configuration configuration;
    {
        ScriptedServer gone([](HttpQuestion const&, HttpPeer&) {});
        configuration = configuration_of(gone);
    }
    Client client(configuration);
    auto const began = std::chrono::steady_clock::now();
    EXPECT_THAT(message_of<Unavailable>([&] { client.call(get(jobs, "a")); }),
                AllOf(HasSubstr(configuration.cluster.server), HasSubstr("context test"),
                      HasSubstr("Does the cluster run")));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST(Client, ACallHasADeadline) {
    ScriptedServer server(
        [](HttpQuestion const&, HttpPeer& peer) { peer.wait_closed(20s), peer.close(); });
    Client client(configuration_of(server));
    auto call = get(jobs, "a");
    call.timeout = 300ms;
    EXPECT_THAT(message_of<Timeout>([&] { client.call(call); }),
                AllOf(HasSubstr("get jobs.batch a"), HasSubstr(server.url())));
}

TEST(Client, ATokenFileIsReadAgainAfterItWasRefused) {
    testing_support::TempFolder const folder;
    auto const file = folder.write("token", "old\n");
    std::vector<std::string> shown;
    ScriptedServer server([&](HttpQuestion const& question, HttpPeer& peer) {
        shown.push_back(question.headers.at("authorization"));
        if (shown.back() == "Bearer new") return void(peer.answer(200, "{}"));
        folder.write("token", "new\n");
        peer.answer(401, status(401, "Unauthorized", "expired"));
    });
    auto configuration = configuration_of(server);
    configuration.user.token.clear();
    configuration.user.token_file = file;
    Client client(configuration);
    client.call(get(jobs, "a"));
    EXPECT_THAT(shown, testing::ElementsAre("Bearer old", "Bearer new"));
}

TEST(Client, UpdatesAgainIfSomebodyElseWasFaster) {
    int patches = 0;
    ScriptedServer server([&](HttpQuestion const& question, HttpPeer& peer) {
        if (question.method == "GET")
            return void(peer.answer(
                200, Json{{"metadata", {{"resourceVersion", std::to_string(patches)}}}}.dump()));
        auto const body = Json::parse(question.body);
        EXPECT_EQ(body["metadata"]["resourceVersion"], std::to_string(patches));
        if (++patches < 3) return void(peer.answer(409, status(409, "Conflict", "changed")));
        peer.answer(200, question.body);
    });
    Client client(configuration_of(server));
    auto const made = client.update(jobs, "a", [](Json const&) {
        return Json{{"spec", {{"parallelism", 4}}}};
    });
    EXPECT_EQ(made["spec"]["parallelism"], 4);
    EXPECT_EQ(patches, 3);
}

// Quotas are objects, too, which several creates change at once.
TEST(Client, RepeatsWhatMetAConflictUnlessItNamesAVersion) {
    int asked = 0;
    ScriptedServer server([&](HttpQuestion const&, HttpPeer& peer) {
        if (++asked % 2 == 1) return void(peer.answer(409, status(409, "Conflict", "changed")));
        peer.answer(200, "{}");
    });
    Client client(configuration_of(server));
    client.call(create(jobs, job("a")));
    client.call(remove(jobs, "a"));
    client.call(patch(jobs, "a", PatchType::merge, Json{{"spec", {{"parallelism", 4}}}}));
    EXPECT_EQ(asked, 6);
    EXPECT_THAT(message_of<ApiError>([&] { client.call(remove(jobs, "a", {.uid = "u"})); }),
                HasSubstr("somebody else has changed it"));
    EXPECT_EQ(asked, 7);
}

TEST(Client, CallbacksComeFromRunUntilOnly) {
    ScriptedServer server([](HttpQuestion const&, HttpPeer& peer) { peer.answer(200, "{}"); });
    Client client(configuration_of(server));
    auto [in, out] = make_pipe();
    ASSERT_EQ(::write(out.get(), "x", 1), 1);
    int answers = 0, reads = 0, timers = 0;
    auto const call = client.start(get(jobs, "a"), [&](std::exception_ptr failure, Json const&) {
        EXPECT_FALSE(failure);
        ++answers;
        client.call(get(jobs, "b"));  // within a callback
    });
    auto const reading = client.readable(in.get(), [&, fd = in.get()] {
        char byte = 0;
        EXPECT_EQ(::read(fd, &byte, 1), 1);
        ++reads;
    });
    auto const timer = client.after(1ms, [&] { ++timers; });
    auto never = client.after(1ms, [&] { ADD_FAILURE(); });
    never = Registration();
    for (int i = 0; i < 5; ++i) client.call(get(jobs, "c"));
    EXPECT_EQ(answers + reads + timers, 0);
    EXPECT_TRUE(client.run_until([&] { return answers && reads && timers; },
                                 std::chrono::steady_clock::now() + 10s));
    EXPECT_EQ(answers, 1);
    EXPECT_EQ(reads, 1);
    EXPECT_EQ(timers, 1);
}

}  // namespace
}  // namespace sinew::k8s
