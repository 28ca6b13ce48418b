// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace sinew::launch {

/// `sinew supervise FOLDER LOCK`: runs one job of `sinew serve`, which starts it and may end before
/// it. It acquires the job's lease, runs `sinew run`, and records the end in the job's folder. LOCK
/// is the number of the descriptor that it inherits, locked. SIGTERM ends the job in order, and
/// SIGUSR1 at once.
int supervise_main(std::vector<std::string> const& arguments);

}  // namespace sinew::launch
