// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace sinew::launch {

// The verbs on running jobs. Each returns the exit code (1: there is no such job), and throws
// UsageError for a wrong command line and Unavailable for a job that cannot be asked. The output of
// ranks goes to the descriptors 1 and 2 directly.

/// `sinew ps`: lists jobs.
int ps_main(std::vector<std::string> const& arguments, std::ostream& out);
/// `sinew logs JOB`: shows the last output of a job.
int logs_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err);
/// `sinew attach JOB`: shows output until the job ends, and returns its exit code.
int attach_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err);
/// `sinew stop JOB...`: ends jobs, and returns when they have ended.
int stop_main(std::vector<std::string> const& arguments, std::ostream& out, std::ostream& err);

}  // namespace sinew::launch
