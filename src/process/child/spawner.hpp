// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "src/base/system/spawn.hpp"

namespace sinew::process {

/// `spawn` in a thread that lives as long as this process: a parent-death signal comes when the
/// *thread* that spawned has ended. That thread takes no lock of the runtime's, so that one may be
/// held by whoever waits here. Throws what spawn throws.
Spawned spawn_in_lasting_thread(SpawnRequest const& request);

}  // namespace sinew::process
