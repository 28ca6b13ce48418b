// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "launchers/service/job_request.hpp"
#include "src/base/system/unique_fd.hpp"

namespace sinew::launch::service {

/// What a job's supervisor says of it, in a file.
struct SupervisorRecord {
    enum class Phase : std::uint8_t { acquiring, running, ended };
    Phase phase = Phase::acquiring;
    pid_t pid = 0;                    ///< of the supervisor
    std::uint64_t process_start = 0;  ///< with `pid` it is never used again: see ProcessLife
    std::string gpus;
    std::chrono::system_clock::time_point started{}, ended{};
    int exit_code = 0;
    bool timed_out = false;
    std::string cause;
};

std::string to_json(SupervisorRecord const& record);
/// No value: it is no such record (yet).
std::optional<SupervisorRecord> parse_supervisor_record(std::string const& json);

/// The files of one job: what it is, its output, and the supervisor's record, whose room on the disk
/// is taken when the folder is created, so that the job's end can be recorded on a full disk.
class JobFiles {
public:
    explicit JobFiles(std::string path) : path_(std::move(path)) {}

    /// Creates it (mode 0700) with these files. Throws SystemError, and leaves nothing.
    void create(JobRequest const& request) const;
    /// Removes it with all it has.
    void remove() const noexcept;

    /// Opens the lock file and locks it. Whoever inherits the descriptor holds the lock, too. Throws
    /// SystemError.
    UniqueFd lock() const;
    /// Whether no process of the job holds the lock.
    bool is_unlocked() const;

    JobRequest request() const;
    /// Empties the record, for a job that starts again from the queue.
    void clear_record() const;
    void write(SupervisorRecord const& record) const;
    /// No value: nothing was recorded. Throws SystemError if that cannot be found out.
    std::optional<SupervisorRecord> record() const;

    std::string const& path() const { return path_; }
    std::string out() const { return path_ + "/out"; }
    std::string err() const { return path_ + "/err"; }

private:
    std::string path_;
};

}  // namespace sinew::launch::service
