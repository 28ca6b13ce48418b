// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace sinew::launch {

/// Records when the steps of a job were reached, for --timing.
class JobTiming {
public:
    using Clock = std::chrono::steady_clock;
    void mark(std::string what) { marks_.emplace_back(std::move(what), Clock::now()); }
    /// Formats the steps: "agents started 12.3 ms, all there 31.0 ms (+18.7), ..."
    std::string text() const;

private:
    Clock::time_point start_ = Clock::now();
    std::vector<std::pair<std::string, Clock::time_point>> marks_;
};

}  // namespace sinew::launch
