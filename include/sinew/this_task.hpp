// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stop_token>

/// What a task can ask about itself while a worker of a pool runs it. From any thread.
namespace sinew::this_task {

/// Asked to stop when the task was cancelled or is over its soft limit: what does not end soon
/// afterwards costs its worker. Outside of a task, no stop is possible.
std::stop_token stop_token();
/// Among the tasks of its map, from 0; 0 outside of a task.
std::uint64_t index();
/// From 1: how often the task has been begun, this time included.
std::uint32_t attempt();

}  // namespace sinew::this_task
