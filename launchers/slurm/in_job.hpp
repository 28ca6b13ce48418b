// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace sinew::launch::slurm {

using Words = std::vector<std::string>;

/// The words of an srun that starts one process on each of these nodes of a job, beside what runs
/// there, with all that the job has there; a command must follow. `job`: its number; empty: that of this
/// process's environment.
Words step_words(std::vector<std::string> const& hosts, std::string const& job = {});

/// The words that run this sinew on a node: by its path here if it is there, too, else by PATH.
Words sinew_words(Words const& arguments);

/// Runs a command and passes on what it writes, by line, without '\n'. Returns its exit code, or 128
/// and the signal that ended it. Throws SystemError if it cannot be started.
struct LineSinks {
    std::function<void(std::string_view line)> out, err;
};
int run_by_line(Words const& words, LineSinks const& sinks);

}  // namespace sinew::launch::slurm
