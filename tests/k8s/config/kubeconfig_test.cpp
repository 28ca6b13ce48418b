// SPDX-License-Identifier: Apache-2.0
#include "k8s/config/kubeconfig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "k8s/objects/base64.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temp_folder.hpp"

namespace sinew::k8s {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing_support::refusal;
using testing_support::TempFolder;

constexpr auto simple = R"(apiVersion: v1
kind: Config
current-context: dev
contexts:
- name: dev
  context: {cluster: c1, user: ann, namespace: ml}
- name: prod
  context: {cluster: c1, user: bob}
clusters:
- name: c1
  cluster: {server: "https://one:6443", tls-server-name: kube, proxy-url: "socks5://p:1"}
users:
- name: ann
  user: {token: t1, as: root, as-groups: [g1, g2]}
- name: bob
  user: {username: b, password: 1234}
)";

Configuration read(std::string const& text, ConfigurationChoice const& choice = {}) {
    return read_kubeconfig({{"/k/config", text}}, choice);
}

TEST(Kubeconfig, GivesTheContextAskedFor) {
    auto const dev = read(simple);
    EXPECT_EQ(dev.ns, "ml");
    EXPECT_EQ(dev.source, "context dev of /k/config");
    EXPECT_EQ(dev.cluster.server, "https://one:6443");
    EXPECT_EQ(dev.cluster.tls_server_name, "kube");
    EXPECT_EQ(dev.cluster.proxy_url, "socks5://p:1");
    EXPECT_EQ(dev.user.token, "t1");
    EXPECT_EQ(dev.user.impersonate, "root");
    EXPECT_EQ(dev.user.impersonate_groups.size(), 2u);
    auto const prod = read(simple, {.kubeconfig = "", .context = "prod", .ns = ""});
    EXPECT_EQ(prod.ns, "default");
    EXPECT_EQ(prod.user.password, "1234");
    EXPECT_EQ(read(simple, {.kubeconfig = "", .context = "", .ns = "x"}).ns, "x");
}

TEST(Kubeconfig, OfSeveralTheFirstWithANameCounts) {
    auto const merged = read_kubeconfig(
        {{"/a", "current-context: prod\nusers:\n- name: bob\n  user: {token: mine}\n"},
         {"/empty", ""},
         {"/b", simple}},
        {});
    EXPECT_EQ(merged.context, "prod");
    EXPECT_EQ(merged.user.token, "mine");
    EXPECT_EQ(merged.user.username, "");
}

TEST(Kubeconfig, ReadsFilesBesideItself) {
    TempFolder const folder;
    folder.write("ca.pem", "authority");
    folder.write("cert.pem", "certificate");
    auto const text = R"(current-context: d
contexts: [{name: d, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: s, certificate-authority: ca.pem}}]
users: [{name: u, user: {client-certificate: cert.pem, tokenFile: tok, client-key-data: )" +
                      to_base64("key") + "}}]\n";
    auto const path = folder.write("config", text);
    auto const found = find_configuration({.kubeconfig = path, .context = "", .ns = ""});
    EXPECT_EQ(found.cluster.authority, "authority");
    EXPECT_EQ(found.user.client_certificate, "certificate");
    EXPECT_EQ(found.user.client_key, "key");
    EXPECT_EQ(found.user.token_file, folder.path() / "tok");
}

TEST(Kubeconfig, ReadsPlugins) {
    auto const with = [](std::string const& exec) {
        return read(R"(current-context: d
contexts: [{name: d, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: s, extensions: [{name: client.authentication.k8s.io/exec, extension: {a: 1}}]}}]
users: [{name: u, user: {exec: )" +
                    exec + "}}]\n");
    };
    auto const found = with(
        "{apiVersion: client.authentication.k8s.io/v1, command: bin/get, args: [a, b], "
        "env: [{name: X, value: y}], provideClusterInfo: true, "
        "interactiveMode: Always, installHint: get it}");
    ASSERT_TRUE(found.user.exec);
    EXPECT_EQ(found.user.exec->command, "/k/bin/get");
    EXPECT_EQ(found.user.exec->args.size(), 2u);
    EXPECT_EQ(found.user.exec->cluster_extension, R"({"a":1})");
    EXPECT_EQ(found.user.exec->interactive, ExecPlugin::Interactive::always);
    EXPECT_THAT(
        refusal([&] { with("{apiVersion: client.authentication.k8s.io/v1alpha1, command: x}"); }),
        HasSubstr("v1alpha1"));
    EXPECT_THAT(refusal([&] { with("{apiVersion: client.authentication.k8s.io/v1}"); }),
                HasSubstr("no command"));
}

TEST(Kubeconfig, SaysWhereItIsWrong) {
    EXPECT_THAT(refusal([] { read(simple, {.kubeconfig = "", .context = "test", .ns = ""}); }),
                AllOf(HasSubstr("context test"), HasSubstr("dev, prod")));
    auto const with = [](std::string const& from, std::string const& to) {
        std::string text = simple;
        text.replace(text.find(from), from.size(), to);
        return refusal([&] { read(text); });
    };
    EXPECT_THAT(
        with("cluster: c1, user: ann", "cluster: c9, user: ann"),
        AllOf(HasSubstr("context dev names the cluster \"c9\""), HasSubstr("clusters: c1")));
    EXPECT_THAT(with("user: ann, n", "user: eve, n"), HasSubstr("the user \"eve\""));
    EXPECT_THAT(with("server: \"https://one:6443\", ", ""), HasSubstr("cluster c1 has no server"));
    EXPECT_THAT(with("token: t1", "auth-provider: {name: gcp}"),
                AllOf(HasSubstr("auth-provider \"gcp\""), HasSubstr("exec plugin")));
    EXPECT_THAT(with("token: t1", "client-certificate-data: QQ=="),
                HasSubstr("both client-certificate"));
    EXPECT_THAT(with("token: t1", "client-certificate-data: '!!'"), HasSubstr("not base64"));
    EXPECT_THAT(with("token: t1", "client-certificate: /no/such"), HasSubstr("/no/such"));
    EXPECT_THAT(with("token: t1", "token: [1]"), HasSubstr("user ann token is not a string"));
    EXPECT_THAT(with("current-context: dev", ""), HasSubstr("no current-context"));
    EXPECT_THAT(
        with("server: \"",
             "insecure-skip-tls-verify: true, certificate-authority-data: QQ==, server: \""),
        HasSubstr("both insecure-skip-tls-verify"));
    EXPECT_THAT(refusal([] { read("- a\n"); }), HasSubstr("is not a kubeconfig"));
    EXPECT_THAT(refusal([] { read("contexts: 7\n"); }), HasSubstr("contexts is not a list"));
}

// Variables of the environment as they were, at the end.
class Environment {
public:
    ~Environment() {
        for (auto const& [name, value] : before_)
            value ? ::setenv(name.c_str(), value->c_str(), 1) : ::unsetenv(name.c_str());
    }
    void set(std::string const& name, char const* value) {
        auto const* const was = std::getenv(name.c_str());
        before_.emplace_back(name, was ? std::optional<std::string>(was) : std::nullopt);
        value ? ::setenv(name.c_str(), value, 1) : ::unsetenv(name.c_str());
    }

private:
    std::vector<std::pair<std::string, std::optional<std::string>>> before_;
};

TEST(Configuration, IsFoundAsKubectlFindsIt) {
    TempFolder const folder;
    auto const path = folder.write("config", simple);
    std::filesystem::create_directory(folder.path() / ".kube");
    Environment environment;
    environment.set("HOME", folder.path().c_str());
    environment.set("KUBERNETES_SERVICE_HOST", nullptr);
    environment.set("KUBECONFIG", (path.string() + ":/no/such/file").c_str());
    EXPECT_EQ(find_configuration().context, "dev");
    environment.set("KUBECONFIG", "/no/such/file");
    EXPECT_THAT(refusal([] { find_configuration(); }), HasSubstr("/no/such/file"));
    environment.set("KUBECONFIG", nullptr);
    EXPECT_THAT(refusal([] { find_configuration(); }), HasSubstr("--kubeconfig"));
    folder.write(".kube/config", simple);
    EXPECT_EQ(find_configuration().source,
              "context dev of " + folder.path().string() + "/.kube/config");
    EXPECT_THAT(
        refusal([] { find_configuration({.kubeconfig = "/absent", .context = "", .ns = ""}); }),
        HasSubstr("--kubeconfig /absent cannot be read"));
}

}  // namespace
}  // namespace sinew::k8s
