// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sinew/detail/task.hpp>
#include <utility>
#include <vector>

#include "src/task/modules.hpp"

namespace sinew::detail {

/// The tasks that have registered until now, ordered by id, and the modules they are in. Modules
/// are numbered in load order, without those that hold no tasks: LD_PRELOAD shifts nothing.
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
