// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/program_options.hpp>

#include "launchers/command_line/kubernetes_options.hpp"
#include "launchers/command_line/service_options.hpp"

namespace sinew::launch {

/// Adds --namespace, --context and --kubeconfig.
void add_cluster_flags(boost::program_options::options_description& flags);
/// What they say; a flag that is missing is taken from SINEW_RUN_NAMESPACE and the like.
KubernetesOptions cluster_options(boost::program_options::variables_map const& values);
/// Adds --at, --key, --registry and --services, which say which `sinew serve`.
void add_service_flags(boost::program_options::options_description& flags);
/// What they say; a flag that is missing is taken from SINEW_RUN_AT and the like.
ServiceOptions service_options(boost::program_options::variables_map const& values);

}  // namespace sinew::launch
