// SPDX-License-Identifier: Apache-2.0
// What a server must not be able to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "k8s/client.hpp"
#include "tests/k8s/scripted_server.hpp"
#include "tests/support/message_of.hpp"

namespace sinew::k8s {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing_support::HttpPeer;
using testing_support::HttpQuestion;
using testing_support::message_of;
using testing_support::ScriptedServer;

Configuration configuration_of(std::string const& url) {
    Configuration configuration;
    configuration.ns = "ml";
    configuration.cluster.server = url;
    configuration.user.token = "sesame";
    return configuration;
}

// What the client says of an answer of these bytes.
std::string said_of(std::string const& bytes, std::size_t repeat = 1) {
    ScriptedServer server([&](HttpQuestion const&, HttpPeer& peer) {
        for (std::size_t i = 0; i < repeat && peer.send(bytes); ++i) {}
        peer.close();
    });
    ClientOptions options;
    options.max_answer = std::size_t(1) << 20;
    options.call_timeout = 3s;
    Client client(configuration_of(server.url()), options);
    return message_of<Error>([&] { client.call(get(jobs, "a")); });
}

std::string answer(std::string const& body, std::string const& headers = "") {
    return "HTTP/1.1 200 OK\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
}

TEST(HostileServer, CannotRedirectCredentials) {
    std::atomic<int> elsewhere = 0;
    ScriptedServer thief([&](HttpQuestion const&, HttpPeer& peer) {
        ++elsewhere;
        peer.answer(200, "{}");
    });
    for (auto const* status : {"301", "302", "307", "308"})
        EXPECT_THAT(said_of("HTTP/1.1 " + std::string(status) + " x\r\nLocation: " + thief.url() +
                            "/x\r\nContent-Length: 0\r\n\r\n"),
                    AllOf(HasSubstr("redirects to"), HasSubstr(thief.url())));
    EXPECT_EQ(elsewhere, 0);
}

TEST(HostileServer, CannotFillTheMemory) {
    EXPECT_THAT(said_of(answer(std::string(2 << 20, ' '))), HasSubstr("more than 1048576 bytes"));
    EXPECT_THAT(said_of("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999\r\n\r\n{}"),
                HasSubstr("cannot get jobs.batch a"));
    EXPECT_THAT(said_of("HTTP/1.1 200 OK\r\nX: " + std::string(60'000, 'x') + "\r\n"),
                HasSubstr("cannot get jobs.batch a"));
    std::string headers = "HTTP/1.1 200 OK\r\n";
    for (int i = 0; i < 100; ++i) headers += "X: " + std::string(8000, 'x') + "\r\n";
    EXPECT_THAT(said_of(headers + "\r\n"), HasSubstr("headers of the answer exceed"));
}

TEST(HostileServer, CannotPassOffOtherThingsAsObjects) {
    for (auto const* body : {"", "null", "[1]", "7", "\"x\"", "{", "<html>", "\x1f\x8b\x08"})
        EXPECT_THAT(said_of(answer(body)), HasSubstr("not answer as the Kubernetes API does"))
            << body;
    EXPECT_THAT(said_of(answer(std::string(500'000, '['))), HasSubstr("no JSON"));
    EXPECT_THAT(said_of("SSH-2.0-OpenSSH_9.2\r\n"), HasSubstr("cannot get jobs.batch a"));
    EXPECT_THAT(said_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"a\""),
                HasSubstr("cannot get jobs.batch a"));  // torn
    EXPECT_THAT(said_of("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
                HasSubstr("cannot get jobs.batch a"));
}

TEST(HostileServer, CannotSendTheClientIntoALoopOfPages) {
    ScriptedServer server([](HttpQuestion const&, HttpPeer& peer) {
        peer.answer(200, R"({"metadata":{"continue":"again"},"items":[{}]})");
    });
    Client client(configuration_of(server.url()));
    EXPECT_THAT(message_of<BackendError>([&] { client.call(list(pods)); }),
                HasSubstr("same page of a list twice"));
}

TEST(HostileServer, CredentialsAreNotSentWithoutTlsOrIntoHeaders) {
    Client plain(configuration_of("http://192.0.2.1:6443"));
    EXPECT_THAT(message_of<UsageError>([&] { plain.call(get(jobs, "a")); }), HasSubstr("TLS"));
    for (auto const* url : {"", "ftp://x", "https://", "://", "file:///etc/passwd"}) {
        Client client(configuration_of(url));
        EXPECT_THAT(message_of<UsageError>([&] { client.call(get(jobs, "a")); }),
                    HasSubstr("not the URL of an API server"))
            << url;
    }
    ScriptedServer server([](HttpQuestion const&, HttpPeer& peer) { peer.answer(200, "{}"); });
    auto configuration = configuration_of(server.url());
    configuration.user.token = "a\r\nImpersonate-User: root";
    Client client(configuration);
    EXPECT_THAT(message_of<UsageError>([&] { client.call(get(jobs, "a")); }),
                AllOf(HasSubstr("line break"), testing::Not(HasSubstr("root"))));
}

}  // namespace
}  // namespace sinew::k8s
