// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>

namespace sinew::bench {

/// One line on a terminal that says what is going on, overwritten in place; nothing elsewhere.
class Progress {
public:
    /// Writes only if `enabled` (one rank does) and stderr is a terminal.
    explicit Progress(bool enabled);
    Progress(Progress const&) = delete;
    Progress& operator=(Progress const&) = delete;
    ~Progress() { clear(); }

    /// At most ten times a second, so that showing costs nothing.
    void show(std::string const& words);
    /// Before something else is printed.
    void clear();

private:
    bool enabled_;
    bool shown_ = false;
    std::chrono::steady_clock::time_point last_{};
};

}  // namespace sinew::bench
