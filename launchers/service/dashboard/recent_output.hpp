// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "launchers/dashboard/state.hpp"
#include "launchers/service/job/job_files.hpp"

namespace sinew::launch::service {

/// Copies the last lines that a server's jobs have written to a dashboard. It reads little at a time,
/// and leaves out what a job writes faster than that.
class RecentOutput {
public:
    /// A job has begun; again: nothing changes.
    void add(std::int64_t id, std::string const& name, JobFiles const& files);
    /// It has ended; what it has written at last is still shown.
    void end(std::int64_t id);
    /// Shows what is new. `is_watched`: whether somebody looks; otherwise it reads nothing.
    void update(dashboard::State& state, bool is_watched, dashboard::Time now);

private:
    struct File {
        std::string path;
        std::optional<std::uint64_t> offset = {};  ///< none: it was not read yet
    };
    struct Job {
        std::string name;
        std::array<File, 2> files;
        bool ended = false;
    };
    static void copy(dashboard::State& state, Job const& job, File& file, int stream,
                     dashboard::Time now);

    std::map<std::int64_t, Job> jobs_;
    std::int64_t next_ = 0;  ///< where the next update begins, if there are too many for one
};

}  // namespace sinew::launch::service
