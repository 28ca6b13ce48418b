// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>

#include "src/base/system/unique_fd.hpp"

namespace sinew::launch {

/// Removes a job's folder if this process is killed before it does so itself, where no agent on
/// this host would: by a process that waits for the end of this one, and does nothing else. Must be
/// made while this process has one thread, and destroyed after the folder.
class FolderGuard {
public:
    /// Throws SystemError if there can be no further process.
    explicit FolderGuard(std::string const& folder);
    FolderGuard(FolderGuard const&) = delete;
    /// Ends the other process.
    ~FolderGuard();

private:
    UniqueFd alive_;  ///< closed by the kernel when this process ends
    pid_t pid_ = 0;
};

}  // namespace sinew::launch
