// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sinew::launch {

// The verbs on running jobs. Each returns the exit code, and throws UsageError for a wrong command
// line. Standard output of ranks goes to `out`'s descriptor 1 and 2 directly.

/// `sinew ps`: lists jobs.
int ps_main(std::vector<std::string> const& arguments, std::ostream& out);
/// `sinew logs JOB`: shows the last output of a job.
int logs_main(std::vector<std::string> const& arguments, std::ostream& out);
/// `sinew attach JOB`: shows output until the job ends, and returns its exit code.
int attach_main(std::vector<std::string> const& arguments, std::ostream& out);
/// `sinew stop JOB...`: ends jobs, and returns when they have ended.
int stop_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err);

}  // namespace sinew::launch
