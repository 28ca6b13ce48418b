// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sinew::launch {

/// A PersistentVolumeClaim that is mounted into each pod.
struct VolumeMount {
    std::string claim;
    std::string path = "/persistent";
    bool read_only = false;
    friend bool operator==(VolumeMount const&, VolumeMount const&) = default;
};

/// How the pods find the root of the job, which runs in the pod of index 0.
enum class Discovery : std::uint8_t {
    vip,  ///< by the cluster IP of a Service; by DNS if that cannot be reached
    dns,  ///< by the pod's DNS name
    api,  ///< by asking the API server, which needs a Role for the pods
};

enum class Gang : std::uint8_t { none, automatic, volcano, coscheduling, kueue };

/// The options of `sinew run` that only the backend kubernetes has, and those that docker has, too.
struct KubernetesOptions {
    std::string kubeconfig, context, ns;  ///< empty: as kubectl would find them
    std::string image;
    std::string image_pull_policy;  ///< empty: the cluster's default
    std::vector<std::string> image_pull_secrets;
    std::string agent_image;  ///< has the agent, which is copied from it; empty: `image` has it
    std::string cpu = "1";    ///< requested for each rank; "0": nothing is requested
    bool cpu_given = false;   ///< by the user
    std::string memory;  ///< requested for each rank, and its limit; empty: nothing is requested
    std::string shm;     ///< size limit of /dev/shm; empty: the pod's memory limit
    std::vector<VolumeMount> volumes;
    std::string service_account;
    std::map<std::string, std::string> node_selector, labels, annotations;
    std::vector<std::string> tolerations;  ///< key[=value][:effect]
    std::string pod_template;              ///< path of a file with a PodTemplateSpec
    Gang gang = Gang::none;
    std::string queue;  ///< of Kueue
    bool network_policy = false;
    Discovery discovery = Discovery::vip;
    std::chrono::seconds ttl = std::chrono::hours(1);
    bool yaml = false;  ///< --dry-run=yaml

    /// The first flag of these that was given; empty: none.
    std::string first_flag;
    std::string shared_flag;  ///< the same for those that docker has, too
};

}  // namespace sinew::launch
