// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

namespace sinew::bench {

/// Gives the session of this process another weight beside the sessions that share the cores, and
/// the usual weight (0) back on destruction.
///
/// Linux weighs sessions first, processes within a session second ("autogroup"), so that `nice`
/// alone changes nothing between two sessions. Make it before MPI starts threads.
class AutogroupWeight {
public:
    explicit AutogroupWeight(std::optional<int> nice);
    AutogroupWeight(AutogroupWeight const&) = delete;
    AutogroupWeight& operator=(AutogroupWeight const&) = delete;
    ~AutogroupWeight();

    /// Why it has no effect; empty when it has, or when none was asked for.
    std::string const& problem() const { return problem_; }

private:
    bool changed_ = false;
    std::string problem_;
};

}  // namespace sinew::bench
