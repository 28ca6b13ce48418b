// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "k8s/client.hpp"
#include "launchers/command_line/kubernetes_options.hpp"

namespace sinew::launch::kubernetes {

/// A pod, for a short time, in which a PersistentVolumeClaim is mounted at /persistent, to copy files
/// by commands that are executed in it. It belongs to a Job that ends it after an hour and removes
/// it, even if this process is killed.
class ClaimPod {
public:
    /// Returns when the pod runs. Throws Timeout, with the reason, if it does not within 5 minutes;
    /// also what Client::call throws. `options.image` must have sh and tar.
    ClaimPod(k8s::Client& client, KubernetesOptions const& options, std::string const& claim);
    ClaimPod(ClaimPod const&) = delete;
    /// Removes the pod; logs why if that fails.
    ~ClaimPod();

    std::string const& name() const { return pod_; }
    std::string const& ns() const { return ns_; }

private:
    void wait();
    void remove();

    k8s::Client& client_;
    std::string const job_, ns_;
    std::string pod_;
};

}  // namespace sinew::launch::kubernetes
