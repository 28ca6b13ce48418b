// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>

#include "launchers/common/loop_gate.hpp"

namespace sinew::launch {

/// Runs `work` in a new detached thread, then posts `then` to the loop with the exception that
/// `work` threw, or null. For work that may block longer than the heartbeat timeouts of the loop's
/// peers. `then` is not called once the gate is closed. The thread is never joined, so `work` must
/// own everything that it uses. If no thread can be created, `work` runs within the call.
void run_aside(LoopGate gate, std::function<void()> work,
               std::function<void(std::exception_ptr)> then);

}  // namespace sinew::launch
