// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "k8s/resource.hpp"
#include "launchers/command_line/options.hpp"
#include "launchers/kubernetes/objects/root_arguments.hpp"

namespace sinew::launch::kubernetes {

/// The port on which the root listens in its pod.
inline constexpr int root_port = 7077;

/// Annotations of the Job, for `sinew ps`: the programs with their arguments, and the number of
/// ranks.
inline constexpr char command_annotation[] = "sinew/command";
inline constexpr char ranks_annotation[] = "sinew/ranks";

struct ClusterObject {
    k8s::Resource resource;
    nlohmann::json object;
};

/// The objects of one job, as functions of its options. Names: the Job, the Secret and the Service
/// have the job's; the headless Service that gives its pods DNS names has -pods behind it.
class JobObjects {
public:
    /// `places`: lines "NODE region/zone/block/rack" of the cluster's nodes, empty if not known.
    /// Throws UsageError for options that the backend refuses.
    JobObjects(RunOptions const& options, std::string name, std::string ns, std::string places);

    std::string const& name() const { return name_; }
    JobShape const& shape() const { return shape_; }
    /// How long the agents may take to join.
    std::chrono::nanoseconds start_timeout() const { return *options_.start_timeout; }

    /// What must exist before the Job, in order: the Secret with the job's key, the Services, the
    /// NetworkPolicy and the gang's PodGroup if they are asked for.
    std::vector<ClusterObject> before() const;
    /// `root_ip`: the cluster IP of service(); empty: the variable that Kubernetes sets for it.
    ClusterObject job(std::string const& root_ip) const;
    /// All of them, for `kubectl apply`.
    std::vector<nlohmann::json> all() const;
    /// The patch that makes the Job with this uid their owner: they are deleted with it.
    nlohmann::json owner_patch(std::string const& uid) const;
    std::string service() const { return name_; }

private:
    nlohmann::json metadata(std::string const& name) const;
    nlohmann::json secret() const;
    nlohmann::json service(bool headless) const;
    nlohmann::json network_policy() const;
    std::string root_addresses(std::string const& root_ip) const;

    RunOptions options_;
    std::string const name_, ns_, places_;
    JobShape const shape_;
};

inline constexpr k8s::Resource network_policies{"networking.k8s.io", "v1", "networkpolicies",
                                                "NetworkPolicy"};

}  // namespace sinew::launch::kubernetes
