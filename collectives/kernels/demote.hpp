// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sinew::collectives::kernels {

/// Whether the processor knows CLDEMOTE (Intel, since Sapphire Rapids).
inline bool knows_demote() {
#if defined(__x86_64__)
    static bool const known = [] {
        constexpr unsigned features = 7, bit = 25;
        unsigned a = 0, b = 0, c = 0, d = 0;
        return __get_cpuid_count(features, 0, &a, &b, &c, &d) != 0 && (c >> bit & 1U) != 0;
    }();
    return known;
#else
    return false;
#endif
}

/// Hints to move a cache line from the caches of this core to the one that all cores share. Requires:
/// knows_demote().
inline void demote(void const* line) {
#if defined(__x86_64__)
    // CLDEMOTE [rdi], which assemblers know under a flag.
    asm volatile(".byte 0x0f, 0x1c, 0x07" : : "D"(line) : "memory");
#else
    static_cast<void>(line);
#endif
}

}  // namespace sinew::collectives::kernels
