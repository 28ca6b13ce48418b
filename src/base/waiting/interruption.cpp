// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/interruption.hpp"

namespace sinew {

namespace {

struct InterruptCheck {
    int (*function)(void*) = nullptr;
    void* context = nullptr;
};
thread_local InterruptCheck interrupt_check;

}  // namespace

void set_interrupt_check(int (*check)(void*), void* context) { interrupt_check = {check, context}; }

bool has_interrupt_check() { return interrupt_check.function != nullptr; }

bool interrupted() {
    return has_interrupt_check() && interrupt_check.function(interrupt_check.context) != 0;
}

}  // namespace sinew
