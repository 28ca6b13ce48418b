// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// Whether these arguments of `sinew agent` are --config FILE, and FILE is of a pod (see PodConfig).
bool is_for_pod(std::vector<std::string> const& arguments);

/// Runs `sinew agent --config FILE` in a pod, as process 1 of its container: the root of the job
/// with an agent beside it in the first pod, an agent that comes by itself in the others. Returns
/// the container's exit code:
///
/// - 75: this pod is to be replaced: it got SIGTERM (the first one only if the job may be
///   restarted), or has waited for a root for too long.
/// - The first pod: that of the job; 1 where that is 75, 137 or 143, which say that a pod is to be
///   replaced. The termination message has the true one.
/// - The others: 0 when the job has ended by the root's order; 1 after any failure.
///
/// Throws UsageError if the file or the environment of the pod is not valid.
int pod_main(std::vector<std::string> const& arguments);

}  // namespace sinew::launch
