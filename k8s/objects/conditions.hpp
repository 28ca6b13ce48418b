// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "k8s/objects/pod_view.hpp"

namespace sinew::k8s {

/// The conditions in a status.
std::vector<Condition> conditions_of(nlohmann::json const& status);

}  // namespace sinew::k8s
