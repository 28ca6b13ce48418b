// SPDX-License-Identifier: Apache-2.0
#include "k8s/log_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "k8s/api_error.hpp"
#include "k8s/client.hpp"
#include "tests/k8s/scripted_server.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::k8s {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing_support::HttpPeer;
using testing_support::HttpQuestion;
using testing_support::message_of;
using testing_support::ScriptedServer;

Client client_of(ScriptedServer const& server, ClientOptions options = {}) {
    Configuration configuration;
    configuration.ns = "ml";
    configuration.cluster.server = server.url();
    return Client(configuration, std::move(options));
}

auto soon() { return std::chrono::steady_clock::now() + 20s; }

TEST(LogStream, FollowsSeveralLogsAtOnce) {
    ScriptedServer server([](HttpQuestion const& question, HttpPeer& peer) {
        EXPECT_EQ(question.query.at("follow"), "true");
        EXPECT_EQ(question.query.at("container"), "main");
        EXPECT_EQ(question.query.at("tailLines"), "10");
        peer.begin();
        for (int i = 0; i < 3; ++i) peer.chunk(question.path + "\n");
        peer.chunk("");
    });
    auto client = client_of(server);
    std::vector<LogStream> streams;
    std::string all;
    int ends = 0;
    for (auto const* name : {"p-0", "p-1", "p-2"})
        streams.push_back(client.follow_log(
            {.pod = name, .container = "main", .follow = true, .tail_lines = 10},
            [&](std::string_view data) { all += data; },
            [&](std::exception_ptr failure) {
                EXPECT_FALSE(failure);
                ++ends;
            }));
    EXPECT_TRUE(client.run_until([&] { return ends == 3; }, soon()));
    for (auto const* name : {"p-0", "p-1", "p-2"})
        EXPECT_THAT(all, HasSubstr(std::string("/pods/") + name + "/log\n"));
}

TEST(LogStream, APausedOneMakesTheServerWait) {
    constexpr std::size_t total = std::size_t(64) << 20;
    std::atomic<std::size_t> sent = 0;
    ScriptedServer server([&](HttpQuestion const&, HttpPeer& peer) {
        peer.begin();
        std::string const piece(65536, 'x');
        while (sent < total && peer.chunk(piece)) sent += piece.size();
        peer.chunk("");
    });
    auto client = client_of(server);
    std::size_t got = 0;
    bool ended = false;
    auto stream = client.follow_log(
        {.pod = "p", .follow = true}, [&](std::string_view data) { got += data.size(); },
        [&](std::exception_ptr) { ended = true; });
    stream.pause();
    client.run_until([] { return false; }, std::chrono::steady_clock::now() + 1s);
    EXPECT_EQ(got, 0u);
    EXPECT_LT(sent, std::size_t(16) << 20);  // what sockets hold
    stream.resume();
    EXPECT_TRUE(client.run_until([&] { return ended; }, soon()));
    EXPECT_EQ(got, total);
}

TEST(LogStream, SaysHowItEnded) {
    ScriptedServer server([](HttpQuestion const& question, HttpPeer& peer) {
        if (question.path.find("torn") != std::string::npos) {
            peer.begin();
            peer.chunk("half");
            return peer.close();
        }
        peer.answer(404, R"({"kind":"Status","details":{"name":"x","kind":"pods"}})");
    });
    auto client = client_of(server);
    for (auto const* name : {"torn", "absent"}) {
        std::exception_ptr failure;
        std::string got;
        auto const stream = client.follow_log(
            {.pod = name, .follow = true}, [&](std::string_view data) { got += data; },
            [&](std::exception_ptr why) { failure = why; });
        ASSERT_TRUE(client.run_until([&] { return failure != nullptr; }, soon()));
        if (std::string(name) == "torn") {
            EXPECT_EQ(got, "half");
            EXPECT_THROW(std::rethrow_exception(failure), Unavailable);
        } else {
            EXPECT_THAT(message_of<ApiError>([&] { std::rethrow_exception(failure); }),
                        HasSubstr("read the log of pods absent"));
        }
    }
}

TEST(LogStream, ALogAsAWholeHasALimit) {
    ScriptedServer server(
        [](HttpQuestion const&, HttpPeer& peer) { peer.answer(200, std::string(100'000, 'x')); });
    ClientOptions options;
    auto client = client_of(server);
    EXPECT_EQ(client.log({.pod = "p"}).size(), 100'000u);
    options.max_answer = 50'000;
    auto limited = client_of(server, options);
    EXPECT_THAT(message_of<BackendError>([&] { limited.log({.pod = "p"}); }),
                HasSubstr("more than 50000 bytes"));
}

}  // namespace
}  // namespace sinew::k8s
