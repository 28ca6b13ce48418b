// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::bench {

/// Seconds that the master of a pool of so many workers spends on deciding, per task: Scheduler::step
/// alone, with workers that answer at once, one task a message.
double master_cost_per_task(int workers);

/// Bytes of memory per job of one task, as long as it waits.
double bytes_per_queued_task();

}  // namespace sinew::bench
