// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "k8s/client.hpp"

namespace sinew::launch::kubernetes {

/// The name of the running pod that has a rank of a job. The root says in its log where it has
/// placed the ranks; where the kubelet no longer has that line, the output of the rank says it.
///
/// Throws UsageError for a rank that the job does not have, Unavailable, with the reason, if the
/// ranks are not placed yet or the pod does not run, and what Client::call throws. `pods` is the
/// number of pods that the job should have, `ranks` that of ranks it was started with.
std::string find_rank_pod(k8s::Client& client, std::string const& job, std::string const& ns,
                          int pods, int ranks, int rank);

}  // namespace sinew::launch::kubernetes
