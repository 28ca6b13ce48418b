// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::bench {

/// Returns the seconds per task that the master of a pool of `workers` spends in Scheduler::step,
/// with workers that answer at once and one task per message.
double master_cost_per_task(int workers);

/// Returns the bytes of memory per queued job of one task.
double bytes_per_queued_task();

}  // namespace sinew::bench
