// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "launchers/command_line/options.hpp"
#include "launchers/service/job_request.hpp"

namespace sinew::launch::service {

/// What `sinew run --at` submits, without a token: the words of its command line, except the flags
/// that the request has in other fields. Throws UsageError for flags that jobs of a server cannot
/// have.
JobRequest make_job_request(RunOptions const& options);

}  // namespace sinew::launch::service
