// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew {

/// Holds all files of a job on a node: sockets, PMIx stores, shared-memory segments and session
/// directories. The folder is in memory (/dev/shm) if possible, has mode 0700, and is locked while
/// its owner lives. The owner removes it; if the owner was killed, the other half of the agent
/// does; if both were killed, the next sinew on this node does.
class JobFolder {
public:
    /// Creates "<base>/sinew-<uid>-<name>". The base is SINEW_TMPDIR if set, otherwise the first of
    /// /dev/shm, TMPDIR and /tmp that works. Throws SystemError naming the path.
    explicit JobFolder(std::string const& name);
    /// The same for a name that only one living process of this user on this host may hold: returns
    /// nothing if another has it. What processes with different SINEW_TMPDIR hold is not compared.
    static std::optional<JobFolder> claim(std::string const& name);
    JobFolder(JobFolder&&) noexcept = default;
    JobFolder& operator=(JobFolder&&) = delete;
    /// Removes the folder, but only in the process that created it.
    ~JobFolder();

    std::string const& path() const { return path_; }
    /// Creates a sub-folder unless it exists, and returns its path. Throws SystemError.
    std::string below(std::string const& name) const;
    void remove();

private:
    JobFolder(std::string path, UniqueFd lock);

    std::string path_;
    UniqueFd lock_;
    int owner_ = 0;
};

/// Removes all stale_folders() and returns their paths.
std::vector<std::string> remove_stale_folders();
/// Removes `folder` if its owner is gone. Waits up to about a second for the lock to be released.
void remove_if_stale(std::string const& folder);
/// Returns the job folders of this user and this host whose owners are gone.
std::vector<std::string> stale_folders();
/// Returns the folders of this user and this host whose names begin so, and whose owners live.
std::vector<std::string> living_folders(std::string_view beginning);
/// The name that the folder was created with.
std::string name_of_folder(std::string const& path);

}  // namespace sinew
