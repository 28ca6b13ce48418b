// SPDX-License-Identifier: Apache-2.0
#include "launchers/kubernetes/kubectl/kubectl.hpp"

namespace sinew::launch::kubernetes {

std::vector<std::string> kubectl_command(KubernetesOptions const& options, std::string const& ns,
                                         std::string const& verb) {
    std::vector<std::string> words{"kubectl", verb};
    if (!options.kubeconfig.empty()) words.push_back("--kubeconfig=" + options.kubeconfig);
    if (!options.context.empty()) words.push_back("--context=" + options.context);
    words.push_back("--namespace=" + ns);
    return words;
}

}  // namespace sinew::launch::kubernetes
