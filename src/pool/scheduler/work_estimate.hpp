// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "src/pool/scheduler/events.hpp"

namespace sinew::pool {

/// What is known of a function: how long its tasks take, and how many of them have not ended.
struct Function {
    double task_ns = -1;  ///< negative: not known yet
    std::uint64_t outstanding = 0;
};

/// Estimates the work of all tasks that have not ended, from the times that tasks of the same
/// function took.
class WorkEstimate {
public:
    Function& function(std::uint64_t key) { return functions_[key]; }
    void add(Function& function, std::uint64_t tasks);
    void remove(Function& function, std::uint64_t tasks);
    void learn(Function& function, Duration busy, std::uint32_t tasks);
    /// No tasks are left: clears rounding errors.
    void clear() { work_ns_ = 0; }
    /// Returns how many workers the work needs, if each shall do this much.
    double workers(Duration each) const;
    std::uint64_t outstanding() const;

private:
    std::unordered_map<std::uint64_t, Function> functions_;
    double work_ns_ = 0;         // of all tasks whose time is known
    std::uint64_t unknown_ = 0;  // the number of the other tasks
};

}  // namespace sinew::pool
