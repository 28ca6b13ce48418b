// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launchers/command_line/kubernetes_options.hpp"

namespace sinew::launch::kubernetes {

/// The beginning of a kubectl command for the namespace `ns` of the chosen cluster. kubectl speaks
/// the protocols of pods/exec and pods/portforward (see docs/decisions/0013), and reads its
/// credentials itself, so that none are in its arguments.
std::vector<std::string> kubectl_command(KubernetesOptions const& options, std::string const& ns,
                                         std::string const& verb);

}  // namespace sinew::launch::kubernetes
