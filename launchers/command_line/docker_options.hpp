// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launchers/common/bind_mount.hpp"

namespace sinew::launch {

/// The options of `sinew run` that only the backend docker has. The image, --cpu, --memory, --shm,
/// --label and --image-pull-policy are in KubernetesOptions.
struct DockerOptions {
    std::vector<BindMount> mounts;
    std::string network;  ///< empty: one for the job
    std::string user;     ///< in the container; empty: the image's
    std::string gpus;     ///< "all"; empty: those of --gpu

    /// The first flag of these that was given; empty: none.
    std::string first_flag;
};

}  // namespace sinew::launch
