// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace sinew::bench {

/// Changes the weight of this process's session relative to other sessions on the cores. The
/// destructor restores the usual weight (0).
///
/// Linux weighs sessions first and processes within a session second ("autogroup"), so `nice` has
/// no effect between sessions. Construct it before MPI starts threads.
class AutogroupWeight {
public:
    explicit AutogroupWeight(std::optional<int> nice);
    AutogroupWeight(AutogroupWeight const&) = delete;
    AutogroupWeight& operator=(AutogroupWeight const&) = delete;
    ~AutogroupWeight();

    /// Why it has no effect; empty if it has one, or if no change was requested.
    std::string const& problem() const { return problem_; }

private:
    bool changed_ = false;
    std::string problem_;
};

}  // namespace sinew::bench
