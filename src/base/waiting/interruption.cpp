// SPDX-License-Identifier: Apache-2.0
#include "src/base/waiting/interruption.hpp"

#include <atomic>

namespace sinew {

namespace {

std::atomic<int (*)(void*)> interrupt_check{nullptr};
std::atomic<void*> interrupt_context{nullptr};

}  // namespace

void set_interrupt_check(int (*check)(void*), void* context) {
    interrupt_context.store(context, std::memory_order_relaxed);
    interrupt_check.store(check, std::memory_order_release);
}

bool has_interrupt_check() { return interrupt_check.load(std::memory_order_acquire) != nullptr; }

bool interrupted() {
    auto* const check = interrupt_check.load(std::memory_order_acquire);
    return check != nullptr && check(interrupt_context.load(std::memory_order_relaxed)) != 0;
}

}  // namespace sinew
