// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "launchers/command_line/options.hpp"

namespace sinew::launch::kubernetes {

/// How many pods a job has, and how many ranks the fullest of them.
struct JobShape {
    int nodes = 1;
    int ranks_per_node = 1;
};

/// --nnodes pods if that is given, else as many as -n and -N need, with one rank each by default.
/// Throws UsageError if -N leaves too little room.
JobShape job_shape(RunOptions const& options);

/// The arguments of `sinew run` with which the root, in the pod of index 0, runs the job that these
/// options describe. What concerns the user's terminal is left out: the root prints JSON.
std::vector<std::string> root_arguments(RunOptions const& options, JobShape shape);

}  // namespace sinew::launch::kubernetes
