// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sinew::launch {

// The verbs that only clusters have. Each returns the exit code, and throws UsageError for a wrong
// command line.

/// `sinew scale JOB PODS`: changes the number of pods.
int scale_main(std::vector<std::string> const& arguments, std::ostream& out);
/// `sinew cp SOURCE TARGET`: copies files to a PersistentVolumeClaim, or from one.
int cp_main(std::vector<std::string> const& arguments, std::ostream& out);
/// `sinew events JOB`: what the cluster reports about a job and its pods.
int events_main(std::vector<std::string> const& arguments, std::ostream& out);
/// `sinew forward JOB [LOCAL:]REMOTE`: forwards a port of this host to one of a rank, until a signal.
int forward_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err);

}  // namespace sinew::launch
