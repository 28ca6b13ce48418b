// SPDX-License-Identifier: Apache-2.0
#include "launchers/dashboard/http/access.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <set>
#include <sinew/error.hpp>

#include "launchers/dashboard/http/request.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::launch::dashboard {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing_support::TempFolder;

TEST(DashboardToken, HasAtLeast128BitsAndIsNeverTheSame) {
    std::set<std::string> tokens;
    for (int i = 0; i < 100; ++i) tokens.insert(Token::random().value());
    EXPECT_EQ(tokens.size(), 100U);
    EXPECT_GE(tokens.begin()->size() * 4, 128U);
    EXPECT_EQ(tokens.begin()->find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST(DashboardToken, AdmitsItselfAlone) {
    auto const token = Token::random();
    EXPECT_TRUE(token.admits("Bearer " + token.value()));
    EXPECT_TRUE(token.admits("bearer " + token.value()));
    EXPECT_FALSE(token.admits(""));
    EXPECT_FALSE(token.admits("Bearer "));
    EXPECT_FALSE(token.admits(token.value()));
    EXPECT_FALSE(token.admits("Basic " + token.value()));
    EXPECT_FALSE(token.admits("Bearer " + token.value() + "0"));
    EXPECT_FALSE(token.admits("Bearer " + token.value().substr(1)));
    for (std::size_t i = 0; i < token.value().size(); ++i) {
        auto other = token.value();
        other[i] = other[i] == '0' ? '1' : '0';
        EXPECT_FALSE(token.admits("Bearer " + other)) << i;
    }
}

TEST(DashboardToken, ComesFromAPrivateFile) {
    TempFolder const folder;
    std::string const words = "0123456789abcdefghijklmnopqrstuv";
    auto const path = folder.write("token", words + "\n");
    ::chmod(path.c_str(), 0600);
    EXPECT_EQ(Token::from_file(path).value(), words);
    ::chmod(path.c_str(), 0644);
    EXPECT_THROW(Token::from_file(path), UsageError);
    for (std::string const bad : {"no-secret", "0123456789abcdefghijklmnopqrst v"}) {
        auto const other = folder.write("bad", bad + "\n");
        ::chmod(other.c_str(), 0600);
        try {
            Token::from_file(other);
            ADD_FAILURE() << bad;
        } catch (UsageError const& problem) {
            EXPECT_THAT(problem.what(), HasSubstr(other.string()));
            EXPECT_THAT(problem.what(), Not(HasSubstr(bad)));
        }
    }
    EXPECT_THROW(Token::from_file(folder.path() / "none"), SystemError);
}

TEST(DashboardHost, IsLoopbackByName) {
    for (auto const* host :
         {"localhost", "LOCALHOST:80", "127.0.0.1", "127.0.0.1:65535", "[::1]:1"})
        EXPECT_TRUE(names_loopback(host)) << host;
    for (auto const* host :
         {"", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2",
          "localhost:", "localhost:80x", "localhost:123456", "[::1", "::1", " localhost"})
        EXPECT_FALSE(names_loopback(host)) << host;
}

int status_of(std::string const& bytes) {
    RequestReader reader;
    return reader.take(bytes);
}

TEST(DashboardRequest, IsReadHoweverItArrives) {
    std::string const bytes =
        "GET /api?x=1 HTTP/1.1\r\nhost: localhost:1\r\nAuthorization:  Bearer abc \r\n\r\n";
    RequestReader whole, pieces;
    EXPECT_EQ(whole.take(bytes), 200);
    for (std::size_t i = 0; i + 1 < bytes.size(); ++i)
        ASSERT_EQ(pieces.take(bytes.substr(i, 1)), 0) << i;
    EXPECT_EQ(pieces.take("\n"), 200);
    for (auto const* reader : {&whole, &pieces}) {
        auto const request = reader->request();
        EXPECT_EQ(request.method, "GET");
        EXPECT_EQ(request.target, "/api?x=1");
        EXPECT_EQ(request.host, "localhost:1");
        EXPECT_EQ(request.authorization, "Bearer abc");
    }
}

TEST(DashboardRequest, IsRefusedIfItIsNone) {
    EXPECT_EQ(status_of("\x16\x03\x01 TLS\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no host";
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx"), 413);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"), 413);
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nX: " + std::string(1 << 20, 'a')), 431);
    std::string many = "GET / HTTP/1.1\r\n";
    for (int i = 0; i < 10'000; ++i) many += "X: y\r\n";
    EXPECT_EQ(status_of(many), 431);
    EXPECT_EQ(status_of("GET /" + std::string(1 << 16, 'a')), 431);
}

}  // namespace
}  // namespace sinew::launch::dashboard
