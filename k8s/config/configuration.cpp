// SPDX-License-Identifier: Apache-2.0
#include "k8s/config/configuration.hpp"

#include <pwd.h>
#include <unistd.h>

#include <sinew/error.hpp>

#include "k8s/config/files.hpp"
#include "k8s/config/kubeconfig.hpp"
#include "src/base/env.hpp"
#include "src/base/text.hpp"

namespace sinew::k8s {
namespace {

constexpr auto service_account = "/var/run/secrets/kubernetes.io/serviceaccount/";

std::string home() {
    if (auto const found = env("HOME")) return *found;
    auto const* const user = ::getpwuid(::getuid());
    return user ? user->pw_dir : "";
}

bool in_pod() {
    return env("KUBERNETES_SERVICE_HOST") && file_exists(text(service_account, "token"));
}

Configuration in_cluster(ConfigurationChoice const& choice) {
    auto const host = env("KUBERNETES_SERVICE_HOST").value_or("");
    auto const port = env("KUBERNETES_SERVICE_PORT").value_or("443");
    Configuration found;
    found.source = "the pod's service account";
    found.cluster.name = "in-cluster";
    found.cluster.server = host.find(':') != std::string::npos ? text("https://[", host, "]:", port)
                                                               : text("https://", host, ":", port);
    found.cluster.authority = read_file(text(service_account, "ca.crt"), "the cluster's authority");
    found.user.name = "the pod's service account";
    found.user.token_file = text(service_account, "token");
    found.ns = choice.ns;
    auto const ns_file = text(service_account, "namespace");
    if (found.ns.empty() && file_exists(ns_file)) found.ns = read_file(ns_file, "the namespace");
    while (!found.ns.empty() && (found.ns.back() == '\n' || found.ns.back() == ' '))
        found.ns.pop_back();
    if (found.ns.empty()) found.ns = "default";
    return found;
}

std::vector<std::string> split(std::string const& list) {
    std::vector<std::string> found;
    for (std::size_t at = 0; at <= list.size();) {
        auto const end = std::min(list.find(':', at), list.size());
        if (end > at) found.push_back(list.substr(at, end - at));
        at = end + 1;
    }
    return found;
}

}  // namespace

Configuration find_configuration(ConfigurationChoice const& choice) {
    std::vector<std::pair<std::string, std::string>> files;
    if (!choice.kubeconfig.empty()) {
        files.emplace_back(choice.kubeconfig, read_file(choice.kubeconfig, "--kubeconfig"));
        return read_kubeconfig(files, choice);
    }
    auto const listed = env("KUBECONFIG");
    auto const usual = home() + "/.kube/config";
    auto const paths = listed ? split(*listed) : std::vector<std::string>{usual};
    for (auto const& path : paths)  // files of the list that do not exist are passed over
        if (file_exists(path)) files.emplace_back(path, read_file(path, "the kubeconfig"));
    if (!files.empty()) return read_kubeconfig(files, choice);
    if (listed)
        throw UsageError(
            text("KUBECONFIG is ", *listed, ", where there is no file. Correct or unset it"));
    if (!choice.context.empty())
        throw UsageError(text("context ", choice.context, " was asked for, and there is no ", usual,
                              ". Give --kubeconfig"));
    if (in_pod()) return in_cluster(choice);
    throw UsageError(text("no Kubernetes configuration was found: KUBECONFIG is not set, ", usual,
                          " does not exist, and this is not a pod with a service account. Give "
                          "--kubeconfig, or write one with your provider's tool"));
}

}  // namespace sinew::k8s
