// SPDX-License-Identifier: Apache-2.0
#include "launchers/verbs/cluster/cluster_flags.hpp"

#include <string>

#include "src/base/env.hpp"

namespace sinew::launch {
namespace {

namespace po = boost::program_options;

std::string value_of(po::variables_map const& values, char const* flag, char const* variable) {
    if (values.count(flag) != 0) return values[flag].as<std::string>();
    return env(variable).value_or("");
}

}  // namespace

void add_cluster_flags(po::options_description& flags) {
    flags.add_options()("namespace,n", po::value<std::string>()->value_name("NAME"),
                        "namespace in the cluster; default: the context's")(
        "context", po::value<std::string>()->value_name("NAME"), "context of the kubeconfig")(
        "kubeconfig", po::value<std::string>()->value_name("FILE"),
        "default: $KUBECONFIG or ~/.kube/config");
}

void add_service_flags(po::options_description& flags) {
    flags.add_options()("at", po::value<std::string>()->value_name("HOST"),
                        "jobs of the sinew serve of HOST[:PORT], or of a service by its name")(
        "key", po::value<std::string>()->value_name("FILE"),
        "key of that server; default ~/.config/sinew/key")(
        "registry", po::value<std::string>()->value_name("HOST"),
        "sinew registry that knows the services by name")(
        "services", po::value<std::string>()->value_name("FILE"),
        "services by name; default ~/.config/sinew/services");
}

ServiceOptions service_options(po::variables_map const& values) {
    ServiceOptions options;
    options.at = value_of(values, "at", "SINEW_RUN_AT");
    options.key = value_of(values, "key", "SINEW_RUN_KEY");
    options.registry = value_of(values, "registry", "SINEW_RUN_REGISTRY");
    options.services = value_of(values, "services", "SINEW_RUN_SERVICES");
    return options;
}

KubernetesOptions cluster_options(po::variables_map const& values) {
    KubernetesOptions options;
    options.ns = value_of(values, "namespace", "SINEW_RUN_NAMESPACE");
    options.context = value_of(values, "context", "SINEW_RUN_CONTEXT");
    options.kubeconfig = value_of(values, "kubeconfig", "SINEW_RUN_KUBECONFIG");
    options.image = value_of(values, "image", "SINEW_RUN_IMAGE");
    return options;
}

}  // namespace sinew::launch
