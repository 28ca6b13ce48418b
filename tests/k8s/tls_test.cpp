// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <nlohmann/json.hpp>
#include <sinew/error.hpp>

#include "k8s/client.hpp"
#include "k8s/config/files.hpp"
#include "src/base/system/spawn.hpp"
#include "src/base/text.hpp"
#include "tests/support/message_of.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::k8s {
namespace {

using testing::HasSubstr;
using testing_support::message_of;

class TlsServer {
public:
    explicit TlsServer(bool named = false) {
        auto in = make_pipe(), out = make_pipe();
        SpawnRequest request;
        request.path = "/usr/bin/python3";
        request.argv = {"python3", SINEW_TLS_SERVER, folder_.path()};
        if (named) request.argv.push_back("--named");
        request.env = {"PATH=/usr/bin:/bin"};
        request.in = in.first.get();
        request.out = out.second.get();
        request.only_kept = true;
        request.death_signal = SIGKILL;
        pid_ = spawn(request).pid;
        input_ = std::move(in.second);
        out.second = UniqueFd();
        std::array<char, 32> line{};
        std::ignore = ::read(out.first.get(), line.data(), line.size() - 1);
        port_ = std::atoi(line.data());
    }
    TlsServer(TlsServer const&) = delete;
    ~TlsServer() {
        input_ = UniqueFd();
        int status = 0;
        if (pid_ > 0) ::waitpid(pid_, &status, 0);
    }
    int port() const { return port_; }
    std::string file(char const* name) const { return read_file(folder_.path() / name, "test"); }
    Configuration configuration() const {
        Configuration made;
        made.source = "context test";
        made.ns = "ml";
        made.cluster.name = "test";
        made.cluster.server = text("https://127.0.0.1:", port_);
        made.cluster.authority = file("ca.pem");
        return made;
    }

private:
    testing_support::TempFolder folder_;
    UniqueFd input_;
    pid_t pid_ = 0;
    int port_ = 0;
};

Json answer(Configuration const& configuration) {
    Client client(configuration);
    return client.call(get(jobs, "a"));
}

TEST(Tls, TheServerIsVerifiedAndTheClientShowsItsCertificate) {
    TlsServer const server;
    ASSERT_GT(server.port(), 0);
    auto good = server.configuration();
    EXPECT_EQ(answer(good)["client"], Json::array());
    good.user.client_certificate = server.file("ann.pem");
    good.user.client_key = server.file("ann.key");
    EXPECT_EQ(answer(good)["client"], Json({"ann"}));

    auto foreign = server.configuration();
    foreign.cluster.authority = server.file("other.pem");
    EXPECT_THAT(message_of<Unavailable>([&] { answer(foreign); }),
                testing::AllOf(HasSubstr("certificate-authority of cluster test"),
                               HasSubstr(foreign.cluster.server), HasSubstr("context test")));
    auto unknown = server.configuration();
    unknown.cluster.authority.clear();  // the system's
    EXPECT_THROW(answer(unknown), Unavailable);
    unknown.cluster.verify = false;
    EXPECT_EQ(answer(unknown)["client"], Json::array());
    auto no_pem = server.configuration();
    no_pem.cluster.authority = "no PEM";
    EXPECT_THROW(answer(no_pem), Unavailable);
    auto mixed = good;
    mixed.user.client_key = server.file("server.key");
    EXPECT_THAT(message_of<Unavailable>([&] { answer(mixed); }), HasSubstr("belong together"));
}

TEST(Tls, AnotherNameMayBeVerified) {
    TlsServer const server(true);
    ASSERT_GT(server.port(), 0);
    auto configuration = server.configuration();
    EXPECT_THROW(answer(configuration), Unavailable);
    configuration.cluster.tls_server_name = "kube.example";
    EXPECT_EQ(answer(configuration)["host"], text("127.0.0.1:", server.port()));
}

}  // namespace
}  // namespace sinew::k8s
