// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "launchers/tree/protocol.hpp"

namespace sinew::launch {

/// The line by which whoever reads the log of the first pod learns that an agent has joined, now:
/// {"joined":3,"began_ms":...,"accepted_ms":...,"joined_ms":...,"dials":1}. The times are in
/// milliseconds of the epoch, the first by the clock of the agent's node. `dials` is the number of
/// connections to roots that the agent has tried.
std::string joined_record(Hello const& hello);

}  // namespace sinew::launch
