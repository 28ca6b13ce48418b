// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace sinew::launch::slurm {

/// What Slurm says of a job.
struct JobState {
    std::string id;
    std::string state;       ///< PENDING, RUNNING, COMPLETING, COMPLETED, FAILED, TIMEOUT, ...
    std::string reason;      ///< why it waits or was ended; "None": no reason
    std::string batch_host;  ///< the node on which its script runs; empty: none yet
    std::string time_limit;
    int exit_code = 0;  ///< of the script
    int signal = 0;     ///< that has ended the script; 0: none
    int restarts = 0;   ///< how often Slurm has begun it again
    /// Until its time limit; no value: it has none, or does not run.
    std::optional<std::chrono::seconds> left = {};

    bool waits() const;
    /// It has ended, and nothing of it runs any more.
    bool ended() const;
};

/// Parses a line of `scontrol show job --oneliner`. No value: it is not one.
std::optional<JobState> parse_job(std::string_view line);

/// Asks for a job, for 2 s. No value: no answer, or no such job. `problem`: what scontrol said.
std::optional<JobState> query(std::string const& id, std::string* problem = nullptr);

/// Why Slurm has ended or ends the job, with a remedy: "Slurm job 7: its time limit (10:00) ...".
/// Empty: it has not.
std::string explain(JobState const& job);

/// Whether the job is, or ended, so near to its time limit that it gets the signal which was asked for
/// so long before.
bool is_before_limit(JobState const& job, std::optional<std::chrono::seconds> signalled);

/// Why a job that goes on was told to end by SIGTERM: as explain(), or that signal.
std::string explain_signal(JobState const& job, std::optional<std::chrono::seconds> signalled);

/// The exit code of `sinew run` for a job that has ended.
int exit_code_of(JobState const& job);

}  // namespace sinew::launch::slurm
