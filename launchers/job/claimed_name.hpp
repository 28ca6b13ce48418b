// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "launchers/control/folder_guard.hpp"
#include "src/base/job_folder.hpp"

namespace sinew::launch {

/// The name of a job, which no other running job of this user on this host has, with the folder of
/// its control socket. Must be made before there are threads, as FolderGuard requires.
class ClaimedName {
public:
    /// `wanted`: --name; empty: made from the program's. `guarded`: nobody else on this host removes
    /// the folder if this process is killed. Throws UsageError if the name is taken.
    ClaimedName(std::string const& wanted, std::string const& program, bool guarded);

    std::string const& name() const { return name_; }
    JobFolder const& folder() const { return *folder_; }
    /// Removes the folder.
    void release() { folder_.reset(); }

private:
    std::string name_;
    std::optional<FolderGuard> guard_;
    std::optional<JobFolder> folder_;
};

}  // namespace sinew::launch
