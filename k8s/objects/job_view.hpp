// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "k8s/objects/pod_view.hpp"

namespace sinew::k8s {

/// What launchers read of a Job. Members that are absent, or not what the API says, are empty.
struct JobView {
    explicit JobView(nlohmann::json const& job);

    std::string name, ns, uid, resource_version;
    int parallelism = 1;
    std::optional<int> completions;
    int active = 0, ready = 0, succeeded = 0, failed = 0;
    std::string completed_indexes;  ///< "0,2-4"
    bool suspended = false, deleting = false;
    std::vector<Condition> conditions;
    std::optional<std::chrono::system_clock::time_point> created, started, completed;

    /// The condition of this type if its status is True.
    Condition const* condition(std::string_view type) const;
    bool complete() const { return condition("Complete") != nullptr; }
    bool has_failed() const { return condition("Failed") != nullptr; }
};

}  // namespace sinew::k8s
