// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "k8s/client.hpp"
#include "launchers/kubernetes/objects/job_objects.hpp"

namespace sinew::launch::kubernetes {

/// Creates the objects of a job: what its pods need, the Job, and then the Job's ownership of the
/// rest. Removes what it has created if that fails or is interrupted. Throws as Client::call.
void create_job(k8s::Client& client, JobObjects const& objects, std::string const& ns);

/// Deletes the objects of a job that has these names, without waiting for its pods. Those that are
/// gone, or that the user may not delete (they go with the Job), are no failure. Throws as
/// Client::call if the Job itself cannot be deleted; returns false if there was none.
bool delete_job(k8s::Client& client, std::string const& name, std::string const& ns,
                std::optional<std::chrono::seconds> grace = {});

}  // namespace sinew::launch::kubernetes
