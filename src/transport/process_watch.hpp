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

/// Names a process beyond the reuse of its number. Plain bytes, to be sent to other ranks.
struct ProcessIdentity {
    std::array<char, 40> boot{};      ///< of the running kernel: its boot id; empty if unknown
    std::uint64_t pid_namespace = 0;  ///< 0 if unknown
    std::uint64_t start_time = 0;     ///< clock ticks since boot; 0 if unknown
    std::int64_t pid = 0;

    static ProcessIdentity mine();
};

/// Notices the death of other processes of this host within milliseconds, by the kernel's word and
/// without their help. Sees only processes of its own pid namespace, from Linux 5.3 on; is blind,
/// silently, to all others, and says so once where the limit of open files is the reason. A process
/// costs one descriptor, however many watches look at it. Any thread may ask.
class ProcessWatch {
public:
    /// `all` by rank, this process's own being `all[me]`.
    ProcessWatch(std::span<ProcessIdentity const> all, int me);

    /// Ranks whose process has ended, in whatever way, in rising order. One system call.
    std::vector<int> ended() const;
    /// How many ranks it can see (without this one).
    int watched() const { return static_cast<int>(watched_.size() + gone_.size()); }

private:
    struct Watched {
        int rank;
        // A pidfd: readable once the process has ended, and for ever. One for all watches.
        std::shared_ptr<UniqueFd const> fd;
    };
    std::vector<Watched> watched_;
    std::vector<int> gone_;  // had ended before we looked
};

}  // namespace sinew
