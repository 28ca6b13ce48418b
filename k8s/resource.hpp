// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace sinew::k8s {

/// A type of object as URLs name it.
struct Resource {
    std::string_view group;    ///< empty: core
    std::string_view version;  ///< "v1"
    std::string_view plural;   ///< "jobs"
    std::string_view kind;     ///< "Job"
    bool namespaced = true;

    /// "batch/v1", as the objects have it.
    std::string api_version() const {
        return group.empty() ? std::string(version)
                             : std::string(group) + "/" + std::string(version);
    }
    bool operator==(Resource const&) const = default;
};

inline constexpr Resource pods{"", "v1", "pods", "Pod"};
inline constexpr Resource services{"", "v1", "services", "Service"};
inline constexpr Resource secrets{"", "v1", "secrets", "Secret"};
inline constexpr Resource config_maps{"", "v1", "configmaps", "ConfigMap"};
inline constexpr Resource volume_claims{"", "v1", "persistentvolumeclaims",
                                        "PersistentVolumeClaim"};
inline constexpr Resource core_events{"", "v1", "events", "Event"};
inline constexpr Resource nodes{"", "v1", "nodes", "Node", false};
inline constexpr Resource namespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr Resource events{"events.k8s.io", "v1", "events", "Event"};
inline constexpr Resource jobs{"batch", "v1", "jobs", "Job"};
inline constexpr Resource access_reviews{"authorization.k8s.io", "v1", "selfsubjectaccessreviews",
                                         "SelfSubjectAccessReview", false};
inline constexpr Resource volcano_pod_groups{"scheduling.volcano.sh", "v1beta1", "podgroups",
                                             "PodGroup"};
inline constexpr Resource pod_groups{"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"};

}  // namespace sinew::k8s
