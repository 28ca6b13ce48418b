// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew {

/// The one folder of a job on a node: sockets, PMIx stores, shared-memory segments, session
/// directories. In memory (/dev/shm) where that is possible, mode 0700, locked as long as its owner
/// lives, and gone with it: removed by whoever owns it, by the other half of the agent when that was
/// killed, and by the next sinew on this node when both were.
class JobFolder {
public:
    /// "<base>/sinew-<uid>-<name>". Base: SINEW_TMPDIR, else /dev/shm, else TMPDIR, else /tmp.
    /// Throws SystemError naming the path.
    explicit JobFolder(std::string const& name);
    JobFolder(JobFolder&&) noexcept = default;
    JobFolder& operator=(JobFolder&&) = delete;
    /// Removes it, in the process that made it only.
    ~JobFolder();

    std::string const& path() const { return path_; }
    /// Makes a folder below it.
    std::string below(std::string const& name) const;
    void remove();

private:
    std::string path_;
    UniqueFd lock_;
    int owner_ = 0;
};

/// Removes folders of this user's and this host's that nobody holds any more; returns their paths.
std::vector<std::string> remove_stale_folders();
/// This one, if its owner is gone.
void remove_if_stale(std::string const& folder);
/// Those that nobody holds any more.
std::vector<std::string> stale_folders();

}  // namespace sinew
