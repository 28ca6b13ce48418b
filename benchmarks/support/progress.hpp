// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace sinew::bench {

/// A progress line on a terminal, overwritten in place. It is not shown elsewhere.
class Progress {
public:
    /// Writes only if `enabled` (on one rank) and stderr is a terminal.
    explicit Progress(bool enabled);
    Progress(Progress const&) = delete;
    Progress& operator=(Progress const&) = delete;
    ~Progress() { clear(); }

    /// Writes at most ten times a second, so that its cost is negligible.
    void show(std::string const& words);
    /// Erases the line. Call it before other output.
    void clear();

private:
    bool enabled_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace sinew::bench
