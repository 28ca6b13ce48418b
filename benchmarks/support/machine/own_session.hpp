// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace sinew::bench {

/// Puts this process into a session of its own, as MPICH's hydra starts each rank. Linux then weighs
/// the ranks of one host against each other as groups ("autogroup"), and sched_yield() does not pass
/// the processor from one to another. The leader of a process group cannot begin a session: then a
/// child does, and goes on in its place; this process waits for it, ends as it ends, and takes it
/// along if it is killed. Call it before any thread is started. Throws SystemError.
void begin_own_session();

}  // namespace sinew::bench
