// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/detail/task.hpp>
#include <utility>
#include <vector>

#include "src/task/modules.hpp"

namespace sinew::detail {

/// The tasks registered so far, ordered by id, and their modules. Modules are numbered in load
/// order, skipping those without tasks; a library of LD_PRELOAD does not change the numbers.
struct TaskTable {
    using Row = std::pair<std::uint64_t, TaskEntry const*>;
    TaskTable() = default;
    explicit TaskTable(TaskEntry const* first);
    TaskEntry const* newest = nullptr;
    std::vector<Module> modules;
    std::vector<Row> rows;
};
TaskTable task_table();
TaskId id_in(std::vector<Module> const& modules, TaskEntry const& entry);

}  // namespace sinew::detail
