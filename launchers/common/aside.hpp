// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>

#include "launchers/common/loop_gate.hpp"

namespace sinew::launch {

/// Runs `work` in a thread of its own, and `then` on the loop when it has ended, with what it threw or
/// null: for what may take longer than others wait for a sign of life. Once the gate is closed `then` is
/// not called, and nobody waits for the thread, so `work` may use only what it owns. Where there can be
/// no thread, `work` runs within the call.
void run_aside(LoopGate gate, std::function<void()> work,
               std::function<void(std::exception_ptr)> then);

}  // namespace sinew::launch
