// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "launchers/command_line/kubernetes_options.hpp"

namespace sinew::launch::kubernetes {

/// The container of a pod in which sinew runs.
inline constexpr char container_name[] = "sinew";
/// Where the Secret of the job is mounted.
inline constexpr char job_folder[] = "/run/sinew/job";
/// The volume of --agent-image, mounted there.
inline constexpr char agent_folder[] = "/run/sinew/agent";
/// A container that ends with one of these codes is replaced; see the agent's documentation.
inline constexpr int replace_codes[] = {75, 137, 143};

/// What runs in the pods of a job, besides the user's options.
struct PodRequest {
    std::string job;                         ///< the name of the Job
    std::vector<std::string> command;        ///< empty: `sinew agent --config`
    std::map<std::string, std::string> env;  ///< variables with literal values
    int ranks = 1;                           ///< of one pod; options give the resources of each
    int gpus = 0;                            ///< of each rank
    int grace_s = 15;                        ///< between SIGTERM and SIGKILL
    bool service_variables = false;          ///< of the namespace's services, for $(J_SERVICE_HOST)
};

/// Labels of all objects of a job: the user's, and those by which sinew finds them.
std::map<std::string, std::string> object_labels(KubernetesOptions const& options,
                                                 std::string const& job);
/// The selector of all objects of one job, or of all jobs if the name is empty.
std::string label_selector(std::string const& job);

/// A PodTemplateSpec that the Pod Security level "restricted" admits, with the file of
/// --pod-template merged into it. Throws UsageError for a wrong quantity and a wrong file.
nlohmann::json pod_template(KubernetesOptions const& options, PodRequest const& request);

}  // namespace sinew::launch::kubernetes
