// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/base/system/spawn.hpp"

namespace sinew::process {

/// Calls `spawn` in a thread that lives as long as this process, because a parent-death signal is
/// sent when the *thread* that spawned ends. That thread takes no lock of the runtime, so that the
/// caller may hold one. Throws what spawn throws.
Spawned spawn_in_lasting_thread(SpawnRequest const& request);

}  // namespace sinew::process
