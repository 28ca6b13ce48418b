// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "k8s/client.hpp"
#include "launchers/command_line/kubernetes_options.hpp"

namespace sinew::launch::kubernetes {

/// A client of the chosen cluster. `interrupted` is asked during blocking calls. Throws UsageError
/// if there is no configuration.
std::unique_ptr<k8s::Client> open_cluster(KubernetesOptions const& options,
                                          std::function<bool()> interrupted = {});

/// Lines "NODE region/zone/block/rack" of all nodes with such labels; empty if the user may not see
/// nodes, which no Role of a namespace allows.
std::string node_places(k8s::Client& client);

/// The gang scheduler that this cluster has, for --gang auto: none if it has none.
Gang available_gang(k8s::Client& client);

}  // namespace sinew::launch::kubernetes
