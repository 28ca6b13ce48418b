// SPDX-License-Identifier: Apache-2.0
// The server of a dashboard and clients that mean no good, over real sockets.
#include "launchers/dashboard/http/http_server.hpp"

#include <gmock/gmock.h>
#include <poll.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>
#include <thread>

#include "launchers/dashboard/dashboard.hpp"
#include "src/base/text.hpp"
#include "tests/launchers/dashboard/http_client.hpp"
#include "tests/support/leak_check.hpp"

namespace sinew::launch::dashboard {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using testing_support::eventually;
using Client = testing_support::HttpClient;

class DashboardServer : public testing::Test {
protected:
    HttpServer::Limits limits() const {
        HttpServer::Limits tight;
        tight.head = 300ms;
        tight.sending = 500ms;
        tight.period = 20ms;
        return tight;
    }
    std::uint16_t port() const {
        auto const address = dashboard.address();
        return static_cast<std::uint16_t>(
            std::stoi(address.substr(sizeof "http://127.0.0.1:" - 1)));
    }
    std::string token() const {
        auto const address = dashboard.address();
        return address.substr(address.find("#token=") + 7);
    }
    std::string head(std::string const& target, std::string const& more = {},
                     std::string const& host = "localhost") const {
        return text("GET ", target, " HTTP/1.1\r\nHost: ", host, "\r\n", more, "\r\n");
    }
    std::string authorization() const { return text("Authorization: Bearer ", token(), "\r\n"); }
    std::string ask(std::string const& bytes) const {
        Client client(port());
        EXPECT_TRUE(client.send(bytes));
        auto answer = client.receive();
        EXPECT_FALSE(client.timed_out());
        return answer;
    }
    std::string api() const { return ask(head("/api", authorization())); }

    Dashboard dashboard{{.port = 0, .token_file = {}, .limits = limits()}};
};

TEST_F(DashboardServer, ServesThePageToAnyoneAndTheStateToWhoHasTheToken) {
    for (auto const* target : {"/", "/dashboard.css", "/dashboard.js", "/charts.js", "/icon.svg"}) {
        auto const answer = ask(head(target));
        EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n")) << target;
        for (auto const* header :
             {"Content-Security-Policy: default-src 'none';", "X-Content-Type-Options: nosniff",
              "Referrer-Policy: no-referrer", "Cache-Control: no-store", "X-Frame-Options: DENY"})
            EXPECT_THAT(answer, HasSubstr(header)) << target;
        EXPECT_THAT(answer, Not(HasSubstr("Access-Control-Allow"))) << target;
        EXPECT_THAT(answer, Not(HasSubstr(token()))) << target;
    }
    dashboard.state().add_event(Level::info, "hello", {});
    auto const answer = api();
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_EQ(json::parse(answer.substr(answer.find("\r\n\r\n")))["events"][0]["text"], "hello");
    EXPECT_THAT(ask(head("/metrics", authorization())), HasSubstr("# TYPE sinew_ranks gauge\n"));
}

TEST_F(DashboardServer, RefusesWhoHasNoToken) {
    auto wrong = token();
    wrong.back() = wrong.back() == '0' ? '1' : '0';
    for (auto const* target : {"/api", "/events", "/metrics", "/api?token=x"})
        for (std::string const& more : std::vector<std::string>{
                 "", "Authorization: Bearer " + wrong + "\r\n", "Authorization: Bearer\r\n",
                 "Authorization: Basic " + token() + "\r\n", "Cookie: token=" + token() + "\r\n"}) {
            auto const answer = ask(head(target, more));
            EXPECT_THAT(answer, StartsWith("HTTP/1.1 401 Unauthorized\r\n"));
            EXPECT_THAT(answer, HasSubstr("WWW-Authenticate: Bearer"));
        }
    EXPECT_THAT(ask(head("/api?token=" + token())), StartsWith("HTTP/1.1 401"));
}

TEST_F(DashboardServer, RefusesOtherNamesAndOrigins) {
    EXPECT_THAT(ask(head("/api", authorization(), "evil.example")), StartsWith("HTTP/1.1 421"));
    EXPECT_THAT(ask(head("/", {}, "evil.example")), StartsWith("HTTP/1.1 421"));
    EXPECT_THAT(ask(head("/api", authorization() + "Origin: http://evil.example\r\n")),
                StartsWith("HTTP/1.1 403"));
    EXPECT_THAT(ask(head("/api", authorization() + "Origin: null\r\n")),
                StartsWith("HTTP/1.1 403"));
    EXPECT_THAT(ask(head("/api", authorization() + "Origin: http://localhost\r\n")),
                StartsWith("HTTP/1.1 200"));
}

TEST_F(DashboardServer, RefusesWhatItDoesNotKnow) {
    EXPECT_THAT(ask(head("/../etc/passwd", authorization())), StartsWith("HTTP/1.1 404"));
    EXPECT_THAT(ask("POST /api HTTP/1.1\r\nHost: localhost\r\n" + authorization() + "\r\n"),
                StartsWith("HTTP/1.1 405"));
    EXPECT_THAT(ask("GET /api HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"),
                StartsWith("HTTP/1.1 413"));
    EXPECT_THAT(ask("nonsense\r\n\r\n"), StartsWith("HTTP/1.1 400"));
    EXPECT_THAT(ask("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'a')),
                StartsWith("HTTP/1.1 431"));
}

TEST_F(DashboardServer, GivesUpOnWhoSpeaksSlowly) {
    Client slow(port());
    auto const bytes = head("/api", authorization());
    std::size_t sent = 0;
    // A byte now and then, for longer than a request may take.
    EXPECT_TRUE(eventually([&] {
        if (sent >= 30 || !slow.send(bytes.substr(sent, 1))) return true;
        ++sent;
        pollfd ready{.fd = slow.fd(), .events = POLLIN, .revents = 0};
        return ::poll(&ready, 1, 50) == 1;
    }));
    EXPECT_LT(sent, 30U);
    EXPECT_EQ(slow.receive(), "");
    EXPECT_THAT(api(), StartsWith("HTTP/1.1 200"));
}

// Whoever is on this host may connect. Those who have the token get their answers all the same.
TEST_F(DashboardServer, AnswersAmongAThousandIdleConnections) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    std::size_t const count = std::min<std::size_t>(1000, files.rlim_cur / 2);
    std::vector<std::unique_ptr<Client>> idle;
    for (std::size_t i = 0; i < count; ++i) {
        idle.push_back(std::make_unique<Client>(port()));
        if (i % 3 == 0) idle.back()->send("GET /api HTTP/1.1\r\nHost: lo");
        if (i % 100 == 0) {
            EXPECT_THAT(api(), StartsWith("HTTP/1.1 200"));
        }
    }
    EXPECT_THAT(api(), StartsWith("HTTP/1.1 200"));
    for (auto& each : idle) EXPECT_EQ(each->receive(), "");
}

TEST_F(DashboardServer, StreamsChangesAsTheyCome) {
    Client reader(port());
    reader.send(head("/events", authorization()));
    auto const has = [](std::string const& words) {
        return [words](std::string const& got) { return got.find(words) != std::string::npos; };
    };
    EXPECT_THAT(reader.receive(has("\"schema\":1")), HasSubstr("Content-Type: text/event-stream"));
    for (int i = 0; i < 5; ++i) {
        dashboard.state().add_event(Level::info, text("event ", i), {});
        reader.receive(has(text("event ", i)));
        ASSERT_FALSE(reader.timed_out());
    }
    dashboard.finish();
    auto const all = reader.receive();
    EXPECT_FALSE(reader.timed_out());
    EXPECT_THAT(all, testing::EndsWith("event: end\ndata: {}\n\n"));
}

// A reader that takes nothing is dropped; what it would have got is not kept for it, and nobody waits.
TEST_F(DashboardServer, DropsAReaderThatNeverReads) {
    Client stuck(port(), 4096), reader(port());
    stuck.send(head("/events", authorization()));
    reader.send(head("/events", authorization()));
    std::string const line(State::most_line, 'x');
    int number = 0;
    auto const fill = [&] {
        for (std::size_t i = 0; i < State::most_lines; ++i)
            dashboard.state().add_output(++number, 1, line, {});
    };
    // More than the buffers of a connection hold, also where a sanitizer makes it slow.
    constexpr int least_fills = 60;
    auto const begin = std::chrono::steady_clock::now();
    for (int fills = 0; fills < least_fills || std::chrono::steady_clock::now() - begin < 2s;
         ++fills) {
        fill();
        std::this_thread::sleep_for(20ms);
        reader.receive([](auto const&) { return true; });
    }
    EXPECT_THAT(api(), StartsWith("HTTP/1.1 200"));
    // The kernel's buffers, and then the end.
    auto const got = stuck.receive();
    EXPECT_FALSE(stuck.timed_out());
    EXPECT_LT(got.size(), std::size_t{16} << 20);
}

TEST_F(DashboardServer, GivesASlowReaderTheNewestState) {
    Client slow(port());
    slow.send(head("/events", authorization()));
    slow.receive([](std::string const& got) { return got.find("schema") != std::string::npos; });
    for (int i = 0; i < 2000; ++i) {
        dashboard.state().set(Job{.name = text("name-", i)});
        if (i % 100 == 0) std::this_thread::sleep_for(5ms);
    }
    auto const all = slow.receive(
        [](std::string const& got) { return got.find("name-1999") != std::string::npos; });
    EXPECT_FALSE(slow.timed_out());
    std::size_t messages = 0;
    for (std::size_t at = 0; (at = all.find("data: ", at)) != std::string::npos; ++at) ++messages;
    EXPECT_LT(messages, 500U) << "a message for each of 2,000 changes would be a queue";
}

TEST_F(DashboardServer, LimitsTheNumberOfStreams) {
    std::vector<std::unique_ptr<Client>> readers;
    for (std::size_t i = 0; i < limits().streams; ++i) {
        readers.push_back(std::make_unique<Client>(port()));
        readers.back()->send(head("/events", authorization()));
        readers.back()->receive(
            [](std::string const& got) { return got.find("schema") != std::string::npos; });
        ASSERT_FALSE(readers.back()->timed_out());
    }
    auto const refused = ask(head("/events", authorization()));
    EXPECT_THAT(refused, StartsWith("HTTP/1.1 503"));
    readers.pop_back();
    EXPECT_TRUE(eventually([&] {
        Client again(port());
        again.send(head("/events", authorization()));
        return again.receive([](std::string const& got) { return got.size() > 16; })
            .starts_with("HTTP/1.1 200");
    }));
}

TEST_F(DashboardServer, EndsWithReadersThatDoNotRead) {
    Client stuck(port(), 4096);
    stuck.send(head("/events", authorization()));
    for (std::size_t i = 0; i < State::most_lines; ++i)
        dashboard.state().add_output(0, 1, std::string(State::most_line, 'x'), {});
    std::this_thread::sleep_for(50ms);
    auto const begin = std::chrono::steady_clock::now();
    dashboard.finish(200ms);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 30s) << "it would be for ever";
}

TEST_F(DashboardServer, NamesThePortThatIsTaken) {
    try {
        Dashboard other({.port = port(), .token_file = {}, .limits = {}});
        FAIL() << "two listen at one port";
    } catch (SystemError const& problem) {
        EXPECT_THAT(problem.what(), HasSubstr(text("port ", port())));
        EXPECT_EQ(problem.error_number(), EADDRINUSE);
    }
}

}  // namespace
}  // namespace sinew::launch::dashboard
