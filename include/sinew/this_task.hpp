// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stop_token>

/// Information about the task that a pool's worker executes. Thread-safe.
namespace sinew::this_task {

/// A token that is asked to stop when the task was cancelled or has exceeded its soft limit. A task
/// that does not end soon afterwards is killed with its worker. Outside of a task, stop is never
/// possible.
std::stop_token stop_token();
/// The task's index within its map, from 0; 0 outside of a task.
std::uint64_t index();
/// The number of times that the task has been started, this time included; at least 1.
std::uint32_t attempt();

}  // namespace sinew::this_task
