// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace sinew::k8s {

/// Merges a patch into a PodTemplateSpec, as the API server merges strategic merge patches: objects
/// are merged, null deletes, lists are replaced, except those with a merge key (containers,
/// initContainers, volumes, env by name, volumeMounts by mountPath, ports by containerPort, ...),
/// whose elements are merged. `$patch: delete` and `$patch: replace` are obeyed. Elements that the
/// patch adds come after those of the base. Throws UsageError with the path of what is wrong.
nlohmann::json strategic_merge(nlohmann::json base, nlohmann::json const& patch);

}  // namespace sinew::k8s
