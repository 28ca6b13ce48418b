// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "launchers/control/job_summary.hpp"
#include "launchers/io/output_record.hpp"

namespace sinew::launch {

/// Which output to show.
struct LogOptions {
    std::optional<std::set<int>> ranks;  ///< no value: all
    bool follow = false;                 ///< go on until the job ends
    std::optional<int> tail;             ///< begin with the last so many lines; no value: all kept
};

struct StopOptions {
    bool now = false;                                ///< SIGKILL at once
    std::optional<std::chrono::milliseconds> grace;  ///< no value: that of the job (--grace)
};

/// Receives output in order. May block: a job is never delayed by its sink.
class LogSink {
public:
    virtual ~LogSink() = default;
    virtual void output(OutputRecord const& record) = 0;
    /// So many bytes of output are missing here, as this reader was too slow or came too late.
    virtual void skipped(std::uint64_t bytes) = 0;
};

/// A job that was found by its name. All methods throw Unavailable, which says why, if the job
/// cannot be reached (any more). Not thread-safe.
class JobHandle {
public:
    virtual ~JobHandle() = default;
    virtual JobSummary summary() = 0;
    /// Returns after the last output that is kept; with `follow` at the end of the job.
    virtual void logs(LogOptions const& options, LogSink& sink) = 0;
    /// Shows the output that is kept and all that follows (`options.follow` is implied), and
    /// returns what the job ended with: exit code and cause. The sink has all output by then.
    struct End {
        int exit_code = 0;
        std::string cause;  ///< empty: nothing failed
    };
    virtual End attach(LogOptions const& options, LogSink& sink) = 0;
    /// Returns when the job has ended. Throws Timeout if it does not within its grace period and a
    /// minute.
    virtual void stop(StopOptions const& options) = 0;
};

/// A place with jobs: this host, a cluster.
class JobSource {
public:
    virtual ~JobSource() = default;
    virtual std::string_view name() const = 0;
    /// The running jobs of this user there, by name. Jobs that cannot be asked are listed with a
    /// state that says so.
    virtual std::vector<JobSummary> list() = 0;
    /// Finds a job by its name, its id, or a unique beginning of either; null if there is none.
    /// Throws UsageError, which lists them, if several begin so.
    virtual std::unique_ptr<JobHandle> find(std::string const& job) = 0;
};

/// The index of the job that is meant by `job`: its name or id, or else a unique beginning. No
/// value: none. Throws UsageError, which lists them, if several begin so.
std::optional<std::size_t> choose_job(std::vector<JobSummary> const& jobs, std::string const& job);

}  // namespace sinew::launch
