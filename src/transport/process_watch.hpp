// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "src/base/system/unique_fd.hpp"

namespace sinew {

/// Identifies a process uniquely, even if its pid is reused. Its bytes are sent to other ranks.
struct ProcessIdentity {
    std::array<char, 40> boot{};      ///< boot id of the running kernel; empty if unknown
    std::uint64_t pid_namespace = 0;  ///< 0 if unknown
    std::uint64_t start_time = 0;     ///< clock ticks since boot; 0 if unknown
    std::int64_t pid = 0;

    static ProcessIdentity mine();
};

/// Notices the end of other processes of this host within milliseconds through pidfds, without
/// their cooperation. Needs Linux 5.3 and sees only processes of its pid namespace. Processes that
/// it cannot watch are skipped silently, except for one warning if the limit of open files is the
/// reason. A process costs one descriptor, however many watches include it. Thread-safe.
class ProcessWatch {
public:
    /// Watches the processes `all`, by rank; `all[me]` is this process.
    ProcessWatch(std::span<ProcessIdentity const> all, int me);

    /// Returns the ranks whose process has ended in any way, ascending. Makes one system call.
    std::vector<int> ended() const;
    /// Returns how many ranks are watched (without this one).
    int watched() const { return static_cast<int>(watched_.size() + gone_.size()); }

private:
    struct Watched {
        int rank;
        // A pidfd, which stays readable once the process has ended. Shared by all watches.
        std::shared_ptr<UniqueFd const> fd;
    };
    std::vector<Watched> watched_;
    std::vector<int> gone_;  // had ended when the watch was made
};

}  // namespace sinew
