// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "launchers/command_line/options.hpp"
#include "launchers/slurm/in_job.hpp"

namespace sinew::launch::slurm {

/// The comment of each job that `sinew run` submits, by which it is found again: this word, the
/// number of ranks (0: as many as there are slots), and the command.
inline constexpr std::string_view comment_word = "sinew";
std::string comment_of(RunOptions const& options);
struct Comment {
    int ranks = 0;
    std::string command;
};
/// No value: the job is not ours.
std::optional<Comment> parse_comment(std::string_view text);

/// The options by which sbatch and srun both ask for resources, but for GPUs.
Words resource_words(RunOptions const& options);

/// The files in the current folder that the job writes, without the ending (.out, .err).
std::string output_name(std::string const& job, std::string const& id);

/// How long before the time limit the job gets SIGTERM; no value: at the limit.
std::optional<std::chrono::seconds> early_signal(RunOptions const& options);

/// The command that submits the job, and the script for its standard input: `sinew run` with the
/// same words. The script can be read by operators of Slurm, and contains no key.
Words submit_words(RunOptions const& options, std::string const& job);
std::string script(RunOptions const& options, std::string const& job);

/// Submits it, and returns its number. Throws Unavailable with what sbatch says.
std::string submit(RunOptions const& options, std::string const& job);

}  // namespace sinew::launch::slurm
