// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launchers/common/job.hpp"

namespace sinew::launch {

/// Which pod of the job this is, and where it runs. See pod_identity().
struct PodIdentity {
    int index = 0;
    std::string name;                ///< of the node: the same for each pod that has this index
    std::string address;             ///< of this pod, for the others; empty: not known
    Place place;                     ///< empty labels: not known
    std::vector<std::string> roots;  ///< addresses of the root; empty in the first pod
    std::string termination_log;  ///< the file that Kubernetes takes the termination message from

    /// The name of the node with this index.
    std::string name_of(int other) const;
    /// The name of the Job, which is that of its pods without their numbers.
    std::string job() const { return name.substr(0, name.rfind('-')); }
};

/// Reads the identity from environment variables:
///
/// - JOB_COMPLETION_INDEX: the pod's index, a number from 0 to 99999.
/// - SINEW_ROOT: addresses of the root, "10.96.0.7:7077,name:7077"; required for index > 0.
/// - SINEW_POD_NAME, SINEW_POD_IP, SINEW_POD_NODE (the machine's name).
/// - SINEW_PLACE, or SINEW_PLACE_REGION, _ZONE, _BLOCK and _RACK. One that is not valid is logged.
/// - SINEW_POD_TERMINATION_LOG: instead of /dev/termination-log.
///
/// Throws UsageError naming the variable.
PodIdentity pod_identity(std::map<std::string, std::string> const& variables,
                         std::string const& host_name);

/// The place of a machine in the file `places` beside the configuration, which has lines "MACHINE
/// region/zone/block/rack"; without labels if there is no such file or line, or if it is not valid,
/// which is logged.
Place place_in_file(std::string const& config_path, std::string const& machine);

/// Removes these variables, but for the pod's name, from the environment of this process: the ranks
/// do not get them.
void drop_pod_variables();

}  // namespace sinew::launch
