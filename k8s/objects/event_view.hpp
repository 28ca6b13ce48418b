// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace sinew::k8s {

/// An Event of core/v1 or events.k8s.io/v1. Members that are absent, or not what the API says, are
/// empty.
struct EventView {
    explicit EventView(nlohmann::json const& event);

    std::string type;  ///< "Normal", "Warning"
    std::string reason, message;
    std::string object_kind, object_name, object_uid;
    std::string reporter;  ///< "kubelet", "default-scheduler"
    int count = 1;
    std::optional<std::chrono::system_clock::time_point> last_seen;

    bool warning() const { return type == "Warning"; }
};

}  // namespace sinew::k8s
