// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace sinew::launch::kubernetes {

/// What runs in the pods of a group of workers.
struct WorkerRequest {
    std::string group;                       ///< of the labels, and the name of the group's Secret
    std::vector<std::string> command;        ///< the program of the pod that asks
    std::string folder;                      ///< its working directory; empty: the image's
    std::map<std::string, std::string> env;  ///< added to that of the pod that asks
    std::string image;                       ///< empty: that of the pod that asks
    int cpu = 0, gpu = 0;                    ///< of the pod; 0: as the pod that asks
    std::uint64_t memory_mib = 0;            ///< 0: as the pod that asks
};

/// A Pod named `name`, like `own`, the pod that asks: with its image, volumes, environment and
/// placement, unless the request says otherwise. It belongs to that pod and is deleted with it.
/// Throws UsageError if `own` is no Pod with a container.
nlohmann::json worker_pod(nlohmann::json const& own, WorkerRequest const& request,
                          std::string const& name);

/// The Secret of the group, which belongs to the same pod; `configuration` is the line that the
/// workers read.
nlohmann::json worker_secret(nlohmann::json const& own, std::string const& group,
                             std::string const& configuration);

}  // namespace sinew::launch::kubernetes
