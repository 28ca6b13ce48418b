// SPDX-License-Identifier: Apache-2.0
#include "k8s/watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <atomic>

#include "k8s/api_error.hpp"
#include "k8s/client.hpp"
#include "k8s/watch_lines.hpp"
#include "src/base/text.hpp"
#include "tests/k8s/scripted_server.hpp"

namespace sinew::k8s {
namespace {

using namespace std::chrono_literals;
using testing_support::HttpPeer;
using testing_support::HttpQuestion;
using testing_support::ScriptedServer;

Json pod(std::string const& name, int version, std::string const& uid = "") {
    return {{"metadata",
             {{"name", name},
              {"namespace", "ml"},
              {"uid", uid.empty() ? "u-" + name : uid},
              {"resourceVersion", std::to_string(version)},
              {"managedFields", {{{"long", "list"}}}}}}};
}
std::string list_of_pods(int version, std::vector<Json> const& items) {
    return Json{{"metadata", {{"resourceVersion", std::to_string(version)}}}, {"items", items}}
        .dump();
}
std::string event(std::string const& type, Json const& object) {
    return Json{{"type", type}, {"object", object}}.dump() + "\n";
}
std::string gone() {
    return event("ERROR", {{"kind", "Status"}, {"code", 410}, {"reason", "Expired"}});
}

// A watch of pods and what it reported, as words: "+a1 ~a2 -a2 synced".
class WatchTest : public testing::Test {
protected:
    void start(ScriptedServer::Script script, WatchOptions options = {}) {
        server = std::make_unique<ScriptedServer>(std::move(script));
        Configuration configuration;
        configuration.ns = "ml";
        configuration.cluster.server = server->url();
        client = std::make_unique<Client>(configuration, client_options);
        watch = client->watch(
            pods, {.ns = "", .label_selector = "job-name=a"},
            [this](WatchEvent const& seen) { note(seen); }, options);
    }
    void note(WatchEvent const& seen) {
        using Type = WatchEvent::Type;
        log += log.empty() ? "" : " ";
        if (seen.type == Type::synced) log += "synced";
        if (seen.type == Type::failed) {
            log += "failed";
            failure = seen.failure;
        }
        if (!seen.object) return;
        auto const& metadata = seen.object->at("metadata");
        EXPECT_FALSE(metadata.contains("managedFields"));
        log += text(seen.type == Type::added      ? '+'
                    : seen.type == Type::modified ? '~'
                                                  : '-',
                    metadata["name"].get<std::string>(),
                    metadata["resourceVersion"].get<std::string>());
    }
    bool until(std::string const& expected, std::chrono::seconds most = 60s) {
        client->run_until([&] { return log == expected; }, std::chrono::steady_clock::now() + most);
        EXPECT_EQ(log, expected);
        return log == expected;
    }

    ClientOptions client_options;
    std::string log;
    std::exception_ptr failure;
    // What the server's script counts. Its threads end with the server, which is later than the end of a test's body.
    std::atomic<int> lists = 0, watches = 0, sent = 0;
    std::unique_ptr<ScriptedServer> server;
    std::unique_ptr<Client> client;
    Watch watch;
};

TEST_F(WatchTest, ReportsWhatThereIsAndWhatChanges) {
    start([](HttpQuestion const& question, HttpPeer& peer) {
        EXPECT_EQ(question.query.at("labelSelector"), "job-name=a");
        if (!question.query.contains("watch"))
            return void(peer.answer(200, list_of_pods(5, {pod("a", 3), pod("b", 4)})));
        EXPECT_EQ(question.query.at("resourceVersion"), "5");
        EXPECT_EQ(question.query.at("allowWatchBookmarks"), "true");
        peer.begin();
        auto const bytes = event("ADDED", pod("c", 6)) + event("MODIFIED", pod("a", 7)) +
                           event("BOOKMARK", {{"metadata", {{"resourceVersion", "8"}}}}) +
                           event("DELETED", pod("b", 9)) + event("DELETED", pod("unknown", 10));
        for (char const& c : bytes) peer.chunk({&c, 1});  // torn anywhere
        peer.wait_closed(20s);
        peer.close();
    });
    until("+a3 +b4 synced +c6 ~a7 -b9");
    EXPECT_TRUE(watch.synced());
    EXPECT_EQ(watch.disconnected_for().count(), 0);
}

TEST_F(WatchTest, ResumesWhereItWasWhenARequestEnds) {
    start([&](HttpQuestion const& question, HttpPeer& peer) {
        if (!question.query.contains("watch")) return void(peer.answer(200, list_of_pods(5, {})));
        ++watches;
        EXPECT_EQ(question.query.at("resourceVersion"), std::to_string(4 + watches));
        peer.begin();
        peer.chunk(event("ADDED", pod(text("p", watches), 5 + watches)));
        if (watches == 2) return peer.close();  // torn, not ended
        if (watches == 3) peer.wait_closed(20s), peer.close();
        peer.chunk("");
    });
    until("synced +p16 +p27 +p38");
}

// Whatever happened while the server could not be asked comes out as differences.
TEST_F(WatchTest, ListsAnewAfter410AndLosesNoDeletion) {
    start([&](HttpQuestion const& question, HttpPeer& peer) {
        if (!question.query.contains("watch")) {
            if (++lists == 1)
                return void(
                    peer.answer(200, list_of_pods(5, {pod("a", 1), pod("b", 2), pod("c", 3)})));
            return void(peer.answer(
                200, list_of_pods(50, {pod("a", 1), pod("c", 40, "another"), pod("d", 41)})));
        }
        if (++watches == 1) {
            peer.begin();
            peer.chunk(gone());
            return void(peer.chunk(""));
        }
        EXPECT_EQ(question.query.at("resourceVersion"), "50");
        peer.begin();
        peer.wait_closed(20s);
        peer.close();
    });
    until("+a1 +b2 +c3 synced -b2 -c3 +c40 +d41");
}

TEST_F(WatchTest, A410AsTheAnswerIsThatToo) {
    start([&](HttpQuestion const& question, HttpPeer& peer) {
        if (!question.query.contains("watch"))
            return void(peer.answer(
                200, ++lists == 1 ? list_of_pods(5, {pod("a", 1)}) : list_of_pods(6, {})));
        if (lists == 1) return void(peer.answer(410, R"({"kind":"Status","code":410})"));
        peer.begin();
        peer.wait_closed(20s);
        peer.close();
    });
    until("+a1 synced -a1");
}

TEST_F(WatchTest, GarbageIsNotBelievedAndTheSetIsListedAnew) {
    std::vector<std::string> const garbage{"no json\n",
                                           "[]\n",
                                           "{\"type\":\"ADDED\"}\n",
                                           "{\"type\":\"BURNED\",\"object\":{}}\n",
                                           "{\"type\":\"ADDED\",\"object\":{\"metadata\":7}}\n",
                                           std::string(1000, '[') + "\n",
                                           std::string(WatchLines::longest + 1, ' ')};
    start([this, garbage](HttpQuestion const& question, HttpPeer& peer) {
        if (!question.query.contains("watch")) {
            ++lists;
            return void(peer.answer(200, list_of_pods(5, {})));
        }
        peer.begin();
        if (auto const next = std::size_t(watches); next < garbage.size()) {
            ++watches;
            peer.chunk(garbage[next]);
            peer.chunk("");
            return peer.close();
        }
        peer.chunk(event("ADDED", pod("a", 6)));
        peer.wait_closed(20s);
        peer.close();
    });
    until("synced +a6");
    EXPECT_EQ(lists, int(garbage.size()) + 1);
}

TEST_F(WatchTest, MissingRightsEndItAndAnOutageDoesNot) {
    start([](HttpQuestion const&, HttpPeer& peer) {
        peer.answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden"})");
    });
    until("failed");
    EXPECT_THROW(std::rethrow_exception(failure), ApiError);

    log.clear();
    watch = Watch();
    start([questions = 0](HttpQuestion const& question, HttpPeer& peer) mutable {
        if (++questions < 3) return void(peer.answer(503, "starting"));
        if (!question.query.contains("watch"))
            return void(peer.answer(200, list_of_pods(5, {pod("a", 1)})));
        if (questions < 6) return peer.close();
        peer.begin();
        peer.chunk(event("DELETED", pod("a", 6)));
        peer.wait_closed(20s);
        peer.close();
    });
    until("+a1 synced -a6");
}

// Who may list pods but not watch them would wait for ever.
TEST_F(WatchTest, TheMissingRightToWatchEndsIt) {
    start([](HttpQuestion const& question, HttpPeer& peer) {
        if (question.target.find("watch=1") == std::string::npos)
            return void(peer.answer(200, list_of_pods(5, {pod("a", 1)})));
        peer.answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden"})");
    });
    EXPECT_TRUE(until("+a1 synced failed")) << log;
    EXPECT_THAT(message_of<ApiError>([&] { std::rethrow_exception(failure); }),
                HasSubstr("forbidden: watch pods in namespace ml"));
}

TEST_F(WatchTest, ASilentServerIsGivenUp) {
    client_options.attempt_timeout = 500ms;
    WatchOptions options;
    options.request_timeout = 1s;
    options.give_up_after =
        5s;  // which is time for a second attempt, also where this thread stands still
    start(
        [&](HttpQuestion const& question, HttpPeer& peer) {
            if (!question.query.contains("watch"))
                return void(peer.answer(200, list_of_pods(5, {})));
            ++watches;
            peer.wait_closed(20s);  // not even headers
            peer.close();
        },
        options);
    until("synced failed");
    EXPECT_GE(watches, 2);
    EXPECT_THROW(std::rethrow_exception(failure), Unavailable);
}

TEST_F(WatchTest, TheFirstListHasADeadline) {
    WatchOptions options;
    options.sync_timeout = 500ms;
    start([](HttpQuestion const&, HttpPeer& peer) { peer.wait_closed(20s), peer.close(); },
          options);
    until("failed");
    EXPECT_THROW(std::rethrow_exception(failure), Timeout);
}

TEST_F(WatchTest, ACallbackMayEndTheWatchAndMayThrow) {
    auto const script = [](HttpQuestion const& question, HttpPeer& peer) {
        if (!question.query.contains("watch"))
            return void(peer.answer(200, list_of_pods(5, {pod("a", 1), pod("b", 2)})));
        peer.begin();
        peer.wait_closed(20s);
        peer.close();
    };
    start(script);
    watch = client->watch(pods, {}, [&](WatchEvent const& seen) {
        note(seen);
        watch = Watch();
    });
    until("+a1");
    log.clear();
    watch = client->watch(pods, {}, [&](WatchEvent const& seen) {
        note(seen);
        if (log == "+a1") throw std::runtime_error("thrown");
    });
    auto const later = std::chrono::steady_clock::now() + 10s;
    EXPECT_THROW(client->run_until([] { return false; }, later), std::runtime_error);
    until("+a1 +b2 synced");
}

// More than 16 MiB, which the consumer does not take meanwhile: the server has to wait.
TEST_F(WatchTest, BlockingCallsLetWatchesGoOnAndMemoryIsBounded) {
    start([&](HttpQuestion const& question, HttpPeer& peer) {
        if (question.path.ends_with("/jobs/x")) return void(peer.answer(200, "{}"));
        if (!question.query.contains("watch")) return void(peer.answer(200, list_of_pods(5, {})));
        peer.begin();
        auto first = pod("a", 0);
        first["blob"] = std::string(1 << 20, 'x');
        auto const bytes = event("ADDED", first);
        for (int i = 1; i <= 60; ++i) {
            auto one = bytes;  // to make it anew takes seconds under a sanitizer
            auto const replace = [&](std::string_view what, std::string const& with) {
                one.replace(one.find(what), what.size(), with);
            };
            replace(R"("resourceVersion":"0")", text(R"("resourceVersion":")", i, '"'));
            if (i > 1) replace("ADDED", "MODIFIED");
            if (!peer.chunk(one)) break;
            ++sent;
        }
        peer.wait_closed(30s);
        peer.close();
    });
    until("synced");
    // Until the server has had to wait for a while.
    using Clock = std::chrono::steady_clock;
    auto const deadline = Clock::now() + 80s;
    int last = 0;
    auto since = Clock::now();
    for (auto now = since; now < deadline && (last < 10 || now - since < 3s); now = Clock::now()) {
        client->call(get(jobs, "x"));
        if (int const sum = sent; sum != last) {
            last = sum;
            since = Clock::now();
        }
    }
    EXPECT_EQ(log, "synced");
    EXPECT_GE(sent, 10);
    EXPECT_LE(sent, 40);
    EXPECT_TRUE(client->run_until([&] { return log.ends_with("~a60"); }, Clock::now() + 160s));
}

}  // namespace
}  // namespace sinew::k8s
