// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "src/lease/locks/lock_file.hpp"

namespace sinew::lease {

/// When a wait ends although nothing was released.
struct WaitLimits {
    std::optional<std::chrono::steady_clock::time_point> deadline;
    std::stop_token stop;
};

enum class WaitEnd : std::uint8_t { released, deadline, stopped };

/// Sleeps until at least one of these locks of others is gone. The kernel wakes it: a thread for
/// each lock asks for a shared one there, which is also granted when the holder was killed. Of more
/// than 64 locks, the first 64 are watched, and the wait ends after 100 ms in any case.
///
/// `watcher` is a description that has no locks of its own, and has none afterwards. Throws
/// SystemError.
WaitEnd wait_for_release(LockFile const& watcher, std::vector<ByteRange> const& locks,
                         WaitLimits const& limits);

}  // namespace sinew::lease
